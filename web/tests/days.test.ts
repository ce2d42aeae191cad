import { describe, expect, it } from 'vitest';
import { daysBack, nice, sums } from '../src/lib/days';

describe('days', () => {
  it('go back over months, each once', () => expect(daysBack(3, new Date(2027, 2, 1))).toEqual(['2027-02-27', '2027-02-28', '2027-03-01']));
  it('are as many as were asked for', () => expect(new Set(daysBack(90)).size).toBe(90));
});

describe('the top of a plot', () => {
  it.each([[0, 1], [1, 1], [1.1, 2], [2.4, 2.5], [7, 10], [99, 100], [0.03, 0.05], [100, 100], [Number.NaN, 1]])('over %d is %d', (value, top) => expect(nice(value)).toBeCloseTo(top));
});

describe('sums', () => {
  it('are by name, the largest first', () => {
    const rows = [{ m: 'a', n: 1 }, { m: 'b', n: 5 }, { m: 'a', n: 2 }];
    expect(sums(rows, (row) => row.m, { n: (row) => row.n }, 'n')).toEqual([{ name: 'b', sum: { n: 5 } }, { name: 'a', sum: { n: 3 } }]);
  });
});
