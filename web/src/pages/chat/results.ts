// What a result of a tool is, so that it can be shown as that: terminal output, a diff, a table, a list of links, a file.

import { difference } from '../../lib/diff';
import { isText } from '../../lib/made';

export type Terminal = {
  kind: 'terminal';
  command: string;
  cwd: string;
  output: string;
  errors: string;
  exit: number | null;
  signal: string;
  timedOut: boolean;
  running: boolean;
  truncated: boolean;
};
export type Table = { kind: 'table'; columns: string[]; rows: unknown[][]; rest: Record<string, unknown> };
export type Step = { step: string; status: string };
export type View =
  | Terminal
  | Table
  | { kind: 'diff'; text: string; path: string }
  | { kind: 'file'; path: string; text: string; language: string }
  | { kind: 'links'; links: { title: string; url: string; about: string }[] }
  | { kind: 'plan'; thought: string; steps: Step[] }
  | { kind: 'tree'; value: unknown }
  | { kind: 'text'; text: string };

type Fields = Record<string, unknown>;
const MOST_ROWS = 200;
const MOST_COLUMNS = 12;

export const fields = (value: unknown): Fields | null => (typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : null);
const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const count = (value: unknown): number | null => (typeof value === 'number' ? value : null);

/** A result as the value it says, or undefined where it is only words. */
export function valueOf(result: string): unknown {
  if (!/^\s*[[{]/.test(result)) return undefined;
  try {
    return JSON.parse(result) as unknown;
  } catch {
    return undefined;
  }
}

/** The command of a call that runs a program. */
export function commandOf(args: unknown): string {
  const given = fields(args);
  const argv = given?.argv;
  if (Array.isArray(argv)) return argv.map((one) => (/^[\w@%+=:,./-]+$/.test(String(one)) ? String(one) : `'${String(one).replaceAll("'", "'\\''")}'`)).join(' ');
  return text(given?.command) || text(given?.cmd);
}

/** The exit code in what a program's tool gave back. */
export function exitOf(value: unknown): number | null {
  const told = fields(value);
  return count(told?.exitCode) ?? count(told?.exit_code) ?? count(fields(told?.output)?.exit_code);
}

function terminal(name: string, args: unknown, value: Fields | null, result: string, ended: boolean): Terminal | null {
  // A task's envelope holds the same inside.
  const told = value && fields(value.output) && 'exit_code' in (fields(value.output) ?? {}) ? fields(value.output) : value;
  const command = commandOf(args);
  const shown = told && ('exitCode' in told || 'exit_code' in told || ('sessionId' in told && 'pid' in told && command !== ''));
  if (!shown && !(command && /(^|_)(bash|shell_exec|powershell)$/i.test(name) && !value)) return null;
  if (!told) return { kind: 'terminal', command, cwd: '', output: result, errors: '', exit: null, signal: '', timedOut: false, running: !ended, truncated: false };
  const parted = 'stdout' in told;
  return {
    kind: 'terminal',
    command,
    cwd: text(told.workdir) || text(fields(args)?.cwd) || text(fields(args)?.workdir),
    output: parted ? text(told.stdout) : text(told.output) || text(told.tail),
    errors: parted ? text(told.stderr) : '',
    exit: exitOf(told),
    signal: text(told.signal),
    timedOut: told.timed_out === true || told.timedOut === true,
    running: told.status === 'running',
    truncated: told.truncated === true || told.stdout_truncated === true || told.stderr_truncated === true,
  };
}

/** What an edit changed, as far as its arguments say it. */
export function editOf(args: unknown): { text: string; path: string } | null {
  const given = fields(args);
  if (!given) return null;
  const path = text(given.path) || text(given.file_path) || text(given.filename);
  const patch = text(given.patch) || text(given.diff);
  if (/^(?:diff --git |--- |\+\+\+ |@@ |\*\*\* )/m.test(patch)) return { text: patch, path };
  const [before, after] = [given.oldString ?? given.old_string ?? given.old_str, given.newString ?? given.new_string ?? given.new_str];
  if (typeof before !== 'string' || typeof after !== 'string') return null;
  return { text: difference(before, after), path };
}

/** The contents of a file that a call writes, where only those are known. */
export function writtenBy(name: string, args: unknown): { path: string; text: string } | null {
  const given = fields(args);
  const path = text(given?.path) || text(given?.filename);
  if (!path || typeof given?.content !== 'string' || !/write|create|put/i.test(name)) return null;
  return { path, text: given.content };
}

export const languageOf = (path: string): string => /\.([A-Za-z0-9]+)$/.exec(path)?.[1]?.toLowerCase() ?? '';

const scalar = (value: unknown): boolean => value === null || typeof value !== 'object';

/** A list of objects as a table, where each has much the same fields. */
export function tableOf(list: unknown[], rest: Fields = {}): Table | null {
  const rows = list.map(fields);
  if (list.length < 2 || rows.some((one) => one === null)) return null;
  const uses = new Map<string, number>();
  for (const one of rows) for (const key of Object.keys(one ?? {})) uses.set(key, (uses.get(key) ?? 0) + 1);
  const columns = [...uses].filter(([, n]) => n >= list.length / 3).map(([key]) => key);
  if (!columns.length || columns.length > MOST_COLUMNS) return null;
  const cells = rows.flatMap((one) => columns.map((column) => one?.[column]));
  // Long texts and deep values are read better one below the other.
  const bad = cells.filter((cell) => (typeof cell === 'string' ? cell.length > 300 : !scalar(cell) && JSON.stringify(cell).length > 120)).length;
  if (bad > cells.length / 5) return null;
  return { kind: 'table', columns, rows: rows.slice(0, MOST_ROWS).map((one) => columns.map((column) => one?.[column])), rest };
}

/** The one list in an object whose other fields are short. */
function listIn(value: Fields): { key: string; list: unknown[]; rest: Fields } | null {
  const lists = Object.entries(value).filter(([, one]) => Array.isArray(one) && one.length > 0);
  const [only] = lists;
  if (lists.length !== 1 || !only) return null;
  const rest = Object.fromEntries(Object.entries(value).filter(([key, one]) => key !== only[0] && !(Array.isArray(one) && !one.length)));
  return { key: only[0], list: only[1] as unknown[], rest };
}

function links(value: Fields): View | null {
  const list = Array.isArray(value.results) ? value.results.map(fields) : [];
  if (!list.length || !list.every((one) => one && /^https?:\/\//.test(text(one.url)) && typeof one.title === 'string')) return null;
  return { kind: 'links', links: list.map((one) => ({ title: text(one?.title) || text(one?.url), url: text(one?.url), about: text(one?.content) || text(one?.snippet) })) };
}

function plan(value: Fields): View | null {
  const told = fields(value.plan);
  const steps = Array.isArray(told?.steps) ? told.steps.map(fields) : [];
  if (!steps.length || !steps.every((one) => typeof one?.step === 'string')) return null;
  return { kind: 'plan', thought: text(told?.thought), steps: steps.map((one) => ({ step: text(one?.step), status: text(one?.status) })) };
}

function file(value: Fields): View | null {
  if (typeof value.content !== 'string' || typeof value.path !== 'string') return null;
  if (typeof value.mimeType === 'string' && !isText(value.mimeType)) return null;
  return { kind: 'file', path: value.path, text: value.content, language: languageOf(value.path) };
}

/** As what a result is shown. `diff` is the gateway's own of an edit. */
export function viewOf(call: { name: string; args: unknown; result: string; ended: boolean; failed: boolean; diff?: string }): View {
  const { name, args, result, ended, failed } = call;
  if (call.diff) return { kind: 'diff', text: call.diff, path: text(fields(args)?.path) };
  const value = valueOf(result);
  const told = fields(value);
  if (failed && !told) return { kind: 'text', text: result };
  const program = terminal(name, args, told, result, ended);
  if (program) return program;
  if (!failed) {
    const edit = editOf(args);
    if (edit?.text) return { kind: 'diff', ...edit };
    const written = writtenBy(name, args);
    if (written) return { kind: 'file', ...written, language: languageOf(written.path) };
  }
  if (Array.isArray(value)) return tableOf(value) ?? { kind: 'tree', value };
  if (!told) return { kind: 'text', text: result };
  const inner = listIn(told);
  return plan(told) ?? links(told) ?? file(told) ?? (inner && tableOf(inner.list, inner.rest)) ?? { kind: 'tree', value };
}
