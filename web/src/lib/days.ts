// Days as the gateway writes them, and what was counted on each.

import '../texts/use/activity';
import { locale, t } from './i18n';

/** The last days up to today, whether something was counted or not, as `2027-03-01`. */
export function daysBack(count: number, today = new Date()): string[] {
  const all: string[] = [];
  for (let back = count - 1; back >= 0; back--) {
    const day = new Date(today.getFullYear(), today.getMonth(), today.getDate() - back);
    all.push(`${day.getFullYear()}-${String(day.getMonth() + 1).padStart(2, '0')}-${String(day.getDate()).padStart(2, '0')}`);
  }
  return all;
}

/** A day as people write it. */
export function dayOf(day: string): string {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number);
  return new Date(year, month - 1, date).toLocaleDateString(locale, { day: 'numeric', month: 'short' });
}

const long = new Intl.DateTimeFormat(locale, { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' });

/** The day of a moment as a heading; today and yesterday by name. */
export function dayTitle(moment: number, now = new Date()): string {
  const date = new Date(moment);
  const back = (days: number) => new Date(now.getFullYear(), now.getMonth(), now.getDate() - days).toDateString() === date.toDateString();
  return back(0) ? t('activity.today') : back(1) ? t('activity.yesterday') : long.format(date);
}

/** A round number that is not below. */
export function nice(value: number): number {
  if (!(value > 0)) return 1;
  const size = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 2.5, 5, 10].find((one) => one * size >= value * 0.999999) ?? 10) * size;
}

/** Sums of rows by a name, the largest first. */
export function sums<T, N extends string>(rows: T[], of: (row: T) => string, what: Record<N, (row: T) => number>, first: NoInfer<N>): { name: string; sum: Record<N, number> }[] {
  const names = Object.keys(what) as N[];
  const found = new Map<string, Record<N, number>>();
  for (const row of rows) {
    const sum = found.get(of(row)) ?? (Object.fromEntries(names.map((name) => [name, 0])) as Record<N, number>);
    for (const name of names) sum[name] += what[name](row);
    found.set(of(row), sum);
  }
  return [...found].map(([name, sum]) => ({ name, sum })).sort((a, b) => b.sum[first] - a.sum[first]);
}
