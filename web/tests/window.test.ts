import { describe, expect, it } from 'vitest';
import { reveal, windowOf } from '../src/lib/window';

describe('a list of ten thousand rows', () => {
  const [count, height, view] = [10_000, 40, 600];

  it('has elements for what is seen and a few around it', () => {
    expect(windowOf(0, view, count, height)).toEqual({ first: 0, last: 21, before: 0, after: (count - 21) * height });
    const middle = windowOf(200_000, view, count, height);
    expect(middle).toMatchObject({ first: 4_994, last: 5_021 });
  });

  it('is always as high as all rows together, and shows what is in view', () => {
    for (let scroll = -500; scroll < count * height + 5_000; scroll += 777) {
      const { first, last, before, after } = windowOf(scroll, view, count, height);
      expect(before + after + (last - first) * height).toBe(count * height);
      const top = Math.max(0, Math.min(scroll, count * height - view));
      expect(first * height).toBeLessThanOrEqual(top);
      expect(last * height).toBeGreaterThanOrEqual(top + view);
      expect(last - first).toBeLessThan(40);
    }
  });

  it('shows the end when the list became shorter than where one was', () => {
    expect(windowOf(300_000, view, 10, height)).toEqual({ first: 0, last: 10, before: 0, after: 0 });
    expect(windowOf(0, view, 0, height)).toEqual({ first: 0, last: 0, before: 0, after: 0 });
    expect(windowOf(0, 0, 5, height).last).toBe(5);
  });

  it('scrolls as little as is needed to show a row', () => {
    expect(reveal(0, 400, view, height)).toBe(0);
    expect(reveal(12, 400, view, height)).toBe(400);
    expect(reveal(99, 400, view, height)).toBe(100 * height - view);
  });
});
