// Numbers and times as people read them.

const time = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const seconds = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const weekday = new Intl.DateTimeFormat(undefined, { weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });
const later = new Intl.DateTimeFormat(undefined, { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit' });
const past = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', year: 'numeric' });
const count = new Intl.NumberFormat();

/** A moment, however the gateway wrote it. */
export type Moment = number | string | null | undefined;

export function at(moment: Moment): Date | null {
  if (moment === null || moment === undefined) return null;
  const date = new Date(moment);
  return Number.isNaN(date.getTime()) ? null : date;
}

/** The whole date and time. */
export const when = (moment: Moment): string => {
  const date = at(moment);
  return date ? full.format(date) : '';
};

/** The day, with its year where that is not this one. */
const dayOf = (date: Date, now: number) => (date.getFullYear() === new Date(now).getFullYear() ? day : past).format(date);

/** Day of the week, day and time: for what is to come; with the year where that is not this one. */
export const ahead = (moment: Moment, now = Date.now()): string => {
  const date = at(moment);
  return date ? (date.getFullYear() === new Date(now).getFullYear() ? weekday : later).format(date) : '';
};

/** The time of day, to the second. */
export const clock = (moment: Moment): string => {
  const date = at(moment);
  return date ? seconds.format(date) : '';
};

/** How long ago, or in how long, roughly. */
export function ago(moment: Moment, now = Date.now()): string {
  const date = at(moment);
  if (!date) return '';
  const past = now - date.getTime();
  const size = Math.abs(past);
  const say = (words: string) => (past >= 0 ? `${words} ago` : `in ${words}`);
  if (size < 45_000) return past >= 0 ? 'just now' : 'in a moment';
  if (size < 90 * 60_000) return say(`${Math.round(size / 60_000)} min`);
  if (size < 22 * 3_600_000) return say(`${Math.round(size / 3_600_000)} h`);
  if (size < 30 * 86_400_000) return say(`${Math.max(1, Math.round(size / 86_400_000))} d`);
  return dayOf(date, now);
}

/** Short: the time today, else the day. */
export function brief(moment: Moment, now = Date.now()): string {
  const date = at(moment);
  if (!date) return '';
  return now - date.getTime() < 20 * 3_600_000 && now >= date.getTime() ? time.format(date) : dayOf(date, now);
}

export function took(ms: number): string {
  if (ms < 1) return '< 1 ms';
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
  return `${(ms / 3_600_000).toFixed(1)} h`;
}

export function bytes(size: number): string {
  if (size < 1_000) return `${size} B`;
  const units = ['kB', 'MB', 'GB', 'TB'];
  let value = size / 1_000;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1_000;
    unit += 1;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

export const number = (value: number): string => count.format(value);

/** Thousands and millions, short. */
export function short(value: number): string {
  if (value < 1_000) return String(Math.round(value));
  if (value < 999_500) return `${(value / 1_000).toFixed(value < 10_000 ? 1 : 0)}k`;
  return `${(value / 1_000_000).toFixed(value < 10_000_000 ? 1 : 0)}M`;
}

/** Millionths of a dollar. */
export function money(micros: number): string {
  const dollars = micros / 1_000_000;
  if (dollars === 0) return '$0';
  if (dollars < 0.01) return `$${dollars.toFixed(4)}`;
  return `$${dollars.toFixed(2)}`;
}

/** Who called, as people say it: a browser's token is called by when it was made. */
export const caller = (name: string): string => name.replace(/(^|:)(?:browser|page) \d{4}-\d\d-\d\dT[\d:.]+Z/, '$1a browser');

export const many = (n: number, one: string, more = `${one}s`): string => `${number(n)} ${n === 1 ? one : more}`;
