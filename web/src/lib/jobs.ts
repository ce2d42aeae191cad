// When a job is due: between what the gateway keeps and what a form shows. What was not touched stays as it was.

export type Schedule = { kind?: string; expr?: string; tz?: string; everyMs?: number; anchorMs?: number; atMs?: number };

/** What a form of a schedule holds. */
export type Form = { kind: string; expr: string; tz: string; steps: number; unit: string; at: string };

export const UNITS: [string, number][] = [['seconds', 1_000], ['minutes', 60_000], ['hours', 3_600_000], ['days', 86_400_000]];

/** A length in the largest unit of which it is a whole number; in seconds where there is none. */
export function stepsOf(ms: number): { steps: number; unit: string } {
  const [unit, size] = UNITS.findLast(([, size]) => ms % size === 0) ?? ['seconds', 1_000];
  return { steps: ms / size, unit };
}

/** A moment by the clock of whoever looks, to the second where it has seconds. */
export function local(ms: number): string {
  const date = new Date(ms);
  const text = new Date(ms - date.getTimezoneOffset() * 60_000).toISOString().replace('T', ' ');
  return text.slice(0, ms % 60_000 ? 19 : 16);
}

/** The form of a schedule, or of a new job, which goes by the clock of whoever makes it. */
export function formOf(was: Schedule | null, zone: string): Form {
  return {
    kind: was?.kind ?? 'cron',
    expr: was?.expr ?? '0 9 * * 1-5',
    tz: was ? (was.tz ?? '') : zone,
    ...(was?.everyMs ? stepsOf(was.everyMs) : { steps: 30, unit: 'minutes' }),
    at: was?.atMs === undefined ? 'tomorrow at 9am' : local(was.atMs),
  };
}

/** What a form says, in the gateway's words; the schedule itself where nothing of it was changed. */
export function scheduleOf(form: Form, was: Schedule | null): Record<string, unknown> {
  const { kind } = form;
  const next = said(form);
  if (was?.kind !== kind) return next;
  if (JSON.stringify(next) === JSON.stringify(said(formOf(was, '')))) return was;
  // Another interval goes on counting from where it began.
  return kind === 'every' && was.anchorMs !== undefined ? { ...next, anchorMs: was.anchorMs } : next;
}

function said({ kind, expr, tz, steps, unit, at }: Form): Record<string, unknown> {
  if (kind === 'cron') return { kind, expr: expr.trim(), ...(tz.trim() ? { tz: tz.trim() } : {}) };
  if (kind === 'every') return { kind, everyMs: Math.round(steps * (UNITS.find(([word]) => word === unit)?.[1] ?? 60_000)) };
  return { kind, at: at.trim() };
}

/** By whose clock a schedule is read: words like “tomorrow” by that of whoever writes them, the calendar of a job by the gateway's. */
export const readBy = (kind: string, zone: string): { tz?: string } => (kind === 'cron' ? {} : { tz: zone });

/** What of a job is another than it was. */
export function changed<T extends Record<string, unknown>>(now: T, was: Partial<T>): Partial<T> {
  const other = Object.entries(now).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(was[key]));
  return Object.fromEntries(other) as Partial<T>;
}
