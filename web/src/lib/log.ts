// Log lines as a table: time, level, message and fields, whether they are JSON or plain text.

export type Level = 'error' | 'warn' | 'info' | 'debug';
export type LogLine = { at: string | null; level: Level; message: string; fields: [string, string][]; raw: string };

export const LEVELS: Level[] = ['error', 'warn', 'info', 'debug'];
const TIME = /^\[?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)\]?\s*/;
const WORD = /^\[?(trace|debug|info|notice|warn|warning|error|fatal|critical|panic)\]?:?(?=\s|$)\s*/i;
/** Words in the first characters of a line without a level that mark an error. */
const TROUBLE = /\b(error|exception|traceback|fatal|panicked)\b/i;

function level(word: string): Level {
  const low = word.toLowerCase();
  if (/^(error|fatal|critical|panic)$/.test(low)) return 'error';
  if (low.startsWith('warn')) return 'warn';
  return /^(trace|debug)$/.test(low) ? 'debug' : 'info';
}

const shown = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));

function structured(raw: string): LogLine | null {
  if (!raw.startsWith('{')) return null;
  try {
    const { at, time, timestamp, ts, level: severity, message, msg, ...rest } = JSON.parse(raw) as Record<string, unknown>;
    const when = at ?? time ?? timestamp ?? ts;
    const fields = Object.entries(rest).filter(([, value]) => value !== null && value !== undefined);
    return {
      at: typeof when === 'number' ? new Date(when).toISOString() : typeof when === 'string' ? when : null,
      level: level(typeof severity === 'string' ? severity : 'info'),
      message: shown(message ?? msg ?? ''),
      fields: fields.map(([name, value]): [string, string] => [name, shown(value)]),
      raw,
    };
  } catch {
    return null;
  }
}

/** Reads one line. */
export function logLine(raw: string): LogLine {
  const known = structured(raw);
  if (known) return known;
  const time = TIME.exec(raw);
  const rest = time ? raw.slice(time[0].length) : raw;
  const word = WORD.exec(rest);
  const message = word ? rest.slice(word[0].length) : rest;
  return { at: time?.[1] ?? null, level: word?.[1] ? level(word[1]) : TROUBLE.test(rest.slice(0, 60)) ? 'error' : 'info', message, fields: [], raw };
}

/** The lines that a filter leaves: of these levels, with every word somewhere in them. */
export function filtered(lines: LogLine[], least: Level, query: string): LogLine[] {
  const wanted = new Set(LEVELS.slice(0, LEVELS.indexOf(least) + 1));
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return lines.filter((line) => wanted.has(line.level) && words.every((word) => line.raw.toLowerCase().includes(word)));
}
