import { describe, expect, it } from 'vitest';
import { changed, formOf, readBy, scheduleOf, stepsOf, type Schedule } from '../src/lib/jobs';

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
