// What a tool gave, sorted by how it is best read: as a program's output, a change, a document, a table, or values.

export type Row = Record<string, unknown>;
export type Output =
  | { kind: 'nothing' }
  | { kind: 'text'; text: string; language: string }
  | { kind: 'diff'; text: string; rest: Row }
  | { kind: 'program'; out: string; err: string; exit: number | null; rest: Row }
  | { kind: 'table'; columns: string[]; rows: Row[]; rest: Row }
  | { kind: 'values'; rest: Row }
  | { kind: 'json'; value: unknown };

const MOST_COLUMNS = 8;
const LANGUAGES: Record<string, string> = { md: 'md', json: 'json', js: 'js', ts: 'ts', rs: 'rust', py: 'python', sh: 'sh', toml: 'toml', yaml: 'yaml', yml: 'yaml', html: 'html', css: 'css' };

const table = (value: unknown): value is Row => typeof value === 'object' && value !== null && !Array.isArray(value);
const omit = (value: Row, names: string[]): Row => Object.fromEntries(Object.entries(value).filter(([name, one]) => !names.includes(name) && one !== null && one !== undefined));
const text = (value: unknown): string => (typeof value === 'string' ? value : '');

function rowsOf(value: unknown): { columns: string[]; rows: Row[] } | null {
  if (!Array.isArray(value) || !value.length || !value.every(table)) return null;
  const rows = value as Row[];
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return columns.length && columns.length <= MOST_COLUMNS ? { columns, rows } : null;
}

export function outputOf(result: unknown): Output {
  if (result === undefined || result === null) return { kind: 'nothing' };
  if (typeof result === 'string') return readable(result);
  const list = rowsOf(result);
  if (list) return { kind: 'table', ...list, rest: {} };
  if (!table(result)) return { kind: 'json', value: result };
  if (typeof result.diff === 'string' && result.diff.trim()) return { kind: 'diff', text: result.diff, rest: omit(result, ['diff']) };
  const exit = result.exitCode ?? result.exit_code;
  if ('stdout' in result || typeof exit === 'number') {
    const rest = omit(result, ['stdout', 'stderr', 'exitCode', 'exit_code', 'output']);
    return { kind: 'program', out: text(result.stdout) || text(result.output), err: text(result.stderr), exit: typeof exit === 'number' ? exit : null, rest };
  }
  const [long] = Object.entries(result).filter(([, value]) => Array.isArray(value) && value.length);
  const rows = rowsOf(long?.[1]);
  const others = Object.entries(result).filter(([name]) => name !== long?.[0]);
  if (long && rows && others.every(([, value]) => typeof value !== 'object' || value === null)) return { kind: 'table', ...rows, rest: omit(result, [long[0]]) };
  return { kind: 'values', rest: omit(result, []) };
}

function readable(result: string): Output {
  if (/^\s*[[{]/.test(result)) {
    try {
      return outputOf(JSON.parse(result));
    } catch {
      // It only begins like JSON.
    }
  }
  return { kind: 'text', text: result, language: '' };
}

/** The language of a file's contents, by the name of the file beside it. */
export function languageOf(values: Row): string {
  const path = text(values.path) || text(values.name);
  return LANGUAGES[path.split('.').at(-1)?.toLowerCase() ?? ''] ?? '';
}
