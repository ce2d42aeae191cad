import { describe, expect, it } from 'vitest';
import { spanOf, ticksOf } from '../src/lib/ticks';

const now = new Date(2027, 2, 1, 10, 20).getTime();
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

describe('a line of time', () => {
  it('is as long as the last time needs', () => {
    expect(spanOf(now, [now + 60_000])).toBe(HOUR);
    expect(spanOf(now, [now + 60_000, now + 5 * HOUR])).toBe(DAY);
    expect(spanOf(now, [now + 3 * DAY])).toBe(7 * DAY);
    expect(spanOf(now, [now + 400 * DAY])).toBe(31 * DAY);
    expect(spanOf(now, [])).toBe(HOUR);
  });
  it.each([
    [HOUR, 8],
    [DAY, 10],
    [DAY, 3],
    [7 * DAY, 8],
    [31 * DAY, 4],
  ])('has marks within %d, not many more than %d, in order', (span, most) => {
    const ticks = ticksOf(now, span, most);
    expect(ticks.length).toBeGreaterThan(0);
    expect(ticks.length).toBeLessThanOrEqual(most + 1);
    expect(ticks.every((tick) => tick.at > now && tick.at <= now + span)).toBe(true);
    expect(ticks.map((tick) => tick.at)).toEqual(ticks.map((tick) => tick.at).toSorted((a, b) => a - b));
  });
  it('stands on round hours and on midnights', () => {
    expect(ticksOf(now, DAY, 10).every((tick) => new Date(tick.at).getMinutes() === 0)).toBe(true);
    expect(ticksOf(now, 7 * DAY, 8).every((tick) => new Date(tick.at).getHours() === 0)).toBe(true);
  });
});
