import { describe, expect, it } from 'vitest';
import { changed, formOf, readBy, scheduleOf, stepsOf, type Schedule, exprOf, repeatOf, scheduleWords } from '../src/lib/jobs';

const ZONE = 'America/New_York';
const every = { kind: 'every', everyMs: 5_400_001, anchorMs: 1_794_700_000_123 };
const once = { kind: 'at', atMs: Date.UTC(2027, 2, 1, 10, 0, 17, 250) };
const kept: [string, Schedule][] = [
  ['an odd interval', every],
  ['a moment with seconds', once],
  ['a calendar without a zone', { kind: 'cron', expr: '0 9 * * *' }],
  ['a calendar with a zone', { kind: 'cron', expr: '0 9 * * *', tz: 'Europe/Berlin' }],
];

describe('the form of a schedule', () => {
  it.each(kept)('leaves %s as it was when nothing is touched', (_, was) => expect(scheduleOf(formOf(was, ZONE), was)).toBe(was));
  it('goes on counting from where it began when the interval is another', () =>
    expect(scheduleOf({ ...formOf(every, ZONE), steps: 2, unit: 'hours' }, every)).toEqual({ kind: 'every', everyMs: 7_200_000, anchorMs: every.anchorMs }));
  it('forgets the old kind with what belonged to it', () => expect(scheduleOf({ ...formOf(every, ZONE), kind: 'cron' }, every)).toEqual({ kind: 'cron', expr: '0 9 * * 1-5' }));
  it('says the zone of whoever makes a new job', () => expect(scheduleOf(formOf(null, ZONE), null)).toEqual({ kind: 'cron', expr: '0 9 * * 1-5', tz: ZONE }));
  it('says no zone where none stands', () => expect(scheduleOf({ ...formOf(null, ZONE), tz: ' ' }, null)).toEqual({ kind: 'cron', expr: '0 9 * * 1-5' }));
  it('shows seconds where there are any', () => {
    expect(formOf(once, ZONE).at).toMatch(/:17$/);
    expect(formOf({ kind: 'at', atMs: Date.UTC(2027, 2, 1, 10, 0) }, ZONE).at).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d$/);
  });
});

it('says a length in the largest unit that fits', () => {
  expect([86_400_000, 5_400_000, 1_800_000, 90_000, 5_400_001].map(stepsOf)).toEqual([
    { steps: 1, unit: 'days' },
    { steps: 90, unit: 'minutes' },
    { steps: 30, unit: 'minutes' },
    { steps: 90, unit: 'seconds' },
    { steps: 5_400.001, unit: 'seconds' },
  ]);
});

it('reads a calendar by the clock of the gateway, and words by that of whoever writes them', () => {
  expect([readBy('cron', ZONE), readBy('at', ZONE)]).toEqual([{}, { tz: ZONE }]);
});

it('finds what is another than it was', () => {
  const was = { name: 'a', schedule: every, spec: { mode: 'task', deliver: false } };
  expect(changed({ ...was, name: 'b', spec: { mode: 'task', deliver: false } }, was)).toEqual({ name: 'b' });
  expect(changed({ name: 'a', missed: 'once' }, {})).toEqual({ name: 'a', missed: 'once' });
});

describe('a schedule without cron syntax', () => {
  it.each([
    ['0 8 * * 1-5', { kind: 'weekdays', hour: 8, minute: 0 }],
    ['30 16 * * 5', { kind: 'weekly', day: 5 }],
    ['0 9 * * *', { kind: 'daily' }],
    ['0 9 * * 7', { kind: 'weekly', day: 0 }],
    ['15 * * * *', { kind: 'hourly', minute: 15 }],
    ['0 9 15 * *', { kind: 'monthly', day: 15 }],
    ['0 9 15 1 *', { kind: 'custom' }],
    ['*/5 * * * *', { kind: 'custom' }],
    ['99 99 * * *', { kind: 'custom' }],
  ])('%s', (expr, wanted) => expect(repeatOf(expr)).toMatchObject(wanted));

  it.each(['0 8 * * 1-5', '30 16 * * 5', '0 9 * * *', '15 * * * *', '0 9 15 * *'])('%s is written as it was read', (expr) => expect(exprOf(repeatOf(expr))).toBe(expr));

  it('is said in words, with the time zone where that is another', () => {
    expect(scheduleWords({ kind: 'cron', expr: '0 8 * * 1-5', tz: 'UTC' }, 'x', 'UTC')).toBe('Monday to Friday at 08:00');
    expect(scheduleWords({ kind: 'cron', expr: '0 8 * * 1', tz: 'Asia/Tokyo' }, 'x', 'UTC')).toBe('Every Monday at 08:00 (Asia/Tokyo)');
    expect(scheduleWords({ kind: 'every', everyMs: 1_800_000 }, 'x', 'UTC')).toBe('Every 30 minutes');
    expect(scheduleWords({ kind: 'cron', expr: '0 8 * * 1-5' }, 'by the clock of the gateway', 'UTC')).toBe('by the clock of the gateway');
  });
});
