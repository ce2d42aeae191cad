// Marks on a line of time: round hours, days or weeks, as many as there is room for.

import { locale } from './i18n';

export type Tick = { at: number; label: string };

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** How far to look: an hour, a day, a week or a month, whichever holds the last of the times. */
export function spanOf(now: number, times: number[]): number {
  const last = Math.max(now, ...times);
  return [HOUR, DAY, 7 * DAY, 31 * DAY].find((long) => last - now <= long) ?? 31 * DAY;
}

/** Marks between now and the end of the span, at most so many, by the clocks of whoever looks. */
export function ticksOf(now: number, span: number, most: number): Tick[] {
  const found: Tick[] = [];
  const put = (date: Date, label: string) => {
    if (date.getTime() > now && date.getTime() <= now + span) found.push({ at: date.getTime(), label });
  };
  const room = Math.max(2, most);
  if (span <= DAY) {
    const steps = span <= HOUR ? [10, 15, 30] : [60, 120, 180, 360, 720];
    const step = steps.find((minutes) => span / (minutes * 60_000) <= room) ?? 720;
    const first = new Date(now);
    first.setHours(0, 0, 0, 0);
    for (let minutes = 0; minutes <= 2 * 24 * 60; minutes += step) {
      const date = new Date(first);
      date.setMinutes(minutes);
      put(date, date.toLocaleTimeString(locale, { hour: '2-digit', minute: '2-digit' }));
    }
    return found;
  }
  const step = [1, 2, 3, 7, 14].find((days) => span / (days * DAY) <= room) ?? 14;
  for (let days = 1; days <= 32; days += step) {
    const date = new Date(now);
    date.setHours(0, 0, 0, 0);
    date.setDate(date.getDate() + days);
    put(date, date.toLocaleDateString(locale, span > 8 * DAY ? { day: 'numeric', month: 'short' } : { weekday: 'short', day: 'numeric' }));
  }
  return found;
}
