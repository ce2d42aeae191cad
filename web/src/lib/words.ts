// Numbers, sizes, durations and times as people read them: in their language, their region and their time zone.

import { locale, t } from './i18n';

const format = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(locale, options);
const digits = (options: Intl.NumberFormatOptions) => new Intl.NumberFormat(locale, options);

const time = format({ hour: '2-digit', minute: '2-digit' });
const seconds = format({ hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
const day = format({ day: 'numeric', month: 'short' });
const dayAndYear = format({ day: 'numeric', month: 'short', year: 'numeric' });
const full = format({ dateStyle: 'medium', timeStyle: 'medium' });
const weekday = format({ weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });
const weekdayAndYear = format({ weekday: 'short', day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit' });
const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'always' });
const count = digits({});
const whole = digits({ maximumFractionDigits: 0 });
const tenths = digits({ minimumFractionDigits: 1, maximumFractionDigits: 1 });
const compact = digits({ notation: 'compact', maximumFractionDigits: 1 });
const dollars = (fraction: number) => digits({ style: 'currency', currency: 'USD', currencyDisplay: 'narrowSymbol', minimumFractionDigits: fraction, maximumFractionDigits: fraction });
const [noCents, cents, tinyCents] = [dollars(0), dollars(2), dollars(4)];

/** A point in time: milliseconds since the epoch, or RFC 3339. */
export type Moment = number | string | null | undefined;

export function at(moment: Moment): Date | null {
  if (moment === null || moment === undefined) return null;
  const date = new Date(moment);
  return Number.isNaN(date.getTime()) ? null : date;
}

const sameYear = (date: Date, now: number) => date.getFullYear() === new Date(now).getFullYear();

/** Date and time. */
export const when = (moment: Moment): string => {
  const date = at(moment);
  return date ? full.format(date) : '';
};

/** The day, with its year unless that is the current one. */
const dayOf = (date: Date, now: number) => (sameYear(date, now) ? day : dayAndYear).format(date);

/** Weekday, day and time, for future times; with the year unless that is the current one. */
export const ahead = (moment: Moment, now = Date.now()): string => {
  const date = at(moment);
  return date ? (sameYear(date, now) ? weekday : weekdayAndYear).format(date) : '';
};

/** The time of day, to the second. */
export const clock = (moment: Moment): string => {
  const date = at(moment);
  return date ? seconds.format(date) : '';
};

/** Roughly how long ago, or in how long. */
export function ago(moment: Moment, now = Date.now()): string {
  const date = at(moment);
  if (!date) return '';
  const ahead = date.getTime() - now;
  const size = Math.abs(ahead);
  const say = (unit: Intl.RelativeTimeFormatUnit, ms: number) => relative.format(Math.sign(ahead) * Math.max(1, Math.round(size / ms)), unit);
  if (size < 45_000) return t(ahead > 0 ? 'common.inAMoment' : 'common.justNow');
  if (size < 90 * 60_000) return say('minute', 60_000);
  if (size < 22 * 3_600_000) return say('hour', 3_600_000);
  if (size < 30 * 86_400_000) return say('day', 86_400_000);
  return dayOf(date, now);
}

/** Short: the time if it was within the last hours, else the day. */
export function brief(moment: Moment, now = Date.now()): string {
  const date = at(moment);
  if (!date) return '';
  return now - date.getTime() < 20 * 3_600_000 && now >= date.getTime() ? time.format(date) : dayOf(date, now);
}

/** A duration in milliseconds. */
export function took(ms: number): string {
  if (ms < 1) return `< ${t('common.milliseconds', { n: '1' })}`;
  if (ms < 1_000) return t('common.milliseconds', { n: whole.format(ms) });
  if (ms < 59_950) return t('common.seconds', { n: tenths.format(ms / 1_000) });
  const total = Math.round(ms / 1_000);
  if (total < 3_600) return t('common.minutesSeconds', { m: String(Math.floor(total / 60)), s: String(total % 60) });
  return t('common.hours', { n: tenths.format(ms / 3_600_000) });
}

export function bytes(size: number): string {
  if (size < 1_000) return `${count.format(size)} B`;
  const units = ['kB', 'MB', 'GB', 'TB'];
  let value = size / 1_000;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1_000;
    unit += 1;
  }
  return `${(value < 10 ? tenths : whole).format(value)} ${units[unit]}`;
}

export const number = (value: number): string => count.format(value);

/** A large number, shortened as the language does it: `1.2K`, `12万`. */
export const short = (value: number): string => compact.format(value);

const disjunction = new Intl.ListFormat(locale, { type: 'disjunction' });
/** `a, b, or c`. */
export const either = (all: string[]): string => disjunction.format(all);

/** An amount in millionths of a dollar. */
export function money(micros: number): string {
  const amount = micros / 1_000_000;
  return (amount === 0 ? noCents : Math.abs(amount) < 0.01 ? tinyCents : cents).format(amount);
}

/** The name of a caller. A browser session's token is named after the time it was created, which says nothing. */
export const caller = (name: string): string => name.replace(/(^|:)(?:browser|page) \d{4}-\d\d-\d\dT[\d:.]+Z/, (_, before: string) => before + t('common.browser'));

/** A number with an English noun. Deprecated: texts of the catalogue use `{n, plural, …}`. */
export const many = (n: number, one: string, more = `${one}s`): string => `${number(n)} ${n === 1 ? one : more}`;
