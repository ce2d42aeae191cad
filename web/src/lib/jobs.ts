// When a job is due: between what the gateway keeps and what a form shows. What was not touched stays as it was.

import '../texts/use/jobs';
import { locale, t } from './i18n';
import { ahead } from './words';

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

/** How often a job repeats, for a form without cron syntax. */
export const REPEATS = ['daily', 'weekdays', 'weekly', 'monthly', 'hourly', 'custom'] as const;
export type Repeat = { kind: (typeof REPEATS)[number]; minute: number; hour: number; day: number };

/** The simple schedule that a cron expression means, or `custom`. */
export function repeatOf(expr: string): Repeat {
  const [, minute, hour, date, month, weekday] = /^(\d{1,2}) (\d{1,2}|\*) (\d{1,2}|\*) (\*) (\d|1-5|\*)$/.exec(expr.trim().replace(/\s+/g, ' ')) ?? [];
  const at = { minute: Number(minute), hour: hour === '*' ? 9 : Number(hour), day: 1 };
  const custom: Repeat = { kind: 'custom', minute: 0, hour: 9, day: 1 };
  if (month === undefined || at.minute > 59 || at.hour > 23) return custom;
  if (hour === '*') return date === '*' && weekday === '*' ? { ...at, kind: 'hourly' } : custom;
  if (date === '*' && weekday === '*') return { ...at, kind: 'daily' };
  if (date === '*' && weekday === '1-5') return { ...at, kind: 'weekdays' };
  if (date === '*') return Number(weekday) > 7 ? custom : { ...at, kind: 'weekly', day: Number(weekday) % 7 };
  return weekday === '*' && Number(date) >= 1 && Number(date) <= 31 ? { ...at, kind: 'monthly', day: Number(date) } : custom;
}

/** The cron expression of a simple schedule. */
export function exprOf({ kind, minute, hour, day }: Repeat): string {
  const at = `${minute} ${hour}`;
  return { hourly: `${minute} * * * *`, daily: `${at} * * *`, weekdays: `${at} * * 1-5`, weekly: `${at} * * ${Math.min(day, 6)}`, monthly: `${at} ${Math.max(1, day)} * *`, custom: `${at} * * *` }[kind];
}

/** `09:05`, as a time field has it. */
export const clockOf = ({ hour, minute }: Pick<Repeat, 'hour' | 'minute'>): string => `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`;

/** The name of a weekday; 0 is Sunday. */
export const weekdayOf = (day: number): string => new Intl.DateTimeFormat(locale, { weekday: 'long', timeZone: 'UTC' }).format(Date.UTC(2023, 0, 1 + day));

const UNIT_NAMES = { seconds: t('jobs.unit_seconds'), minutes: t('jobs.unit_minutes'), hours: t('jobs.unit_hours'), days: t('jobs.unit_days') } as const;
export const unitName = (unit: string): string => UNIT_NAMES[unit as keyof typeof UNIT_NAMES] ?? unit;

/** A schedule in words of the page's language; `fallback` is the gateway's own description, for schedules without a short one. */
export function scheduleWords(schedule: Schedule, fallback: string, zone: string): string {
  if (schedule.kind === 'every' && schedule.everyMs) {
    const { steps, unit } = stepsOf(schedule.everyMs);
    return t('jobs.w_every', { n: steps, unit: unitName(unit) });
  }
  if (schedule.kind === 'at' && schedule.atMs !== undefined) return t('jobs.w_at', { when: ahead(schedule.atMs) });
  // Without a time zone the gateway's applies, which only its own description names.
  if (schedule.kind !== 'cron' || !schedule.expr || !schedule.tz) return fallback;
  const repeat = repeatOf(schedule.expr);
  if (repeat.kind === 'custom') return fallback;
  const time = clockOf(repeat);
  const words = {
    hourly: t('jobs.w_hourly', { minute: String(repeat.minute) }),
    daily: t('jobs.w_daily', { time }),
    weekdays: t('jobs.w_weekdays', { time }),
    weekly: t('jobs.w_weekly', { day: weekdayOf(repeat.day), time }),
    monthly: t('jobs.w_monthly', { day: String(repeat.day), time }),
  }[repeat.kind];
  return schedule.tz === zone ? words : t('jobs.w_zone', { words, zone: schedule.tz });
}
