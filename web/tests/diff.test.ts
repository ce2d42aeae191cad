import { describe, expect, it } from 'vitest';
import { difference } from '../src/lib/diff';

const lines = (count: number) => Array.from({ length: count }, (_, at) => `line ${at}`);

describe('a difference', () => {
  it('is empty where nothing changed', () => {
    expect(difference('a\nb', 'a\nb')).toBe('');
    expect(difference('', '')).toBe('');
  });
  it('shows what came and what went, in their places', () => {
    expect(difference('a\nb\nc', 'a\nx\nc')).toBe(' a\n-b\n+x\n c');
    expect(difference('a\nc', 'a\nb\nc')).toBe(' a\n+b\n c');
    expect(difference('a\nb\nc', 'c\na')).toBe('-a\n-b\n c\n+a');
    expect(difference('', 'new')).toBe('-\n+new');
  });
  it('leaves out what is far from any change', () => {
    const old = lines(100);
    const now = old.with(50, 'other');
    expect(difference(old.join('\n'), now.join('\n'), 1)).toBe('@@ 49 lines the same @@\n line 49\n-line 50\n+other\n line 51\n@@ 48 lines the same @@');
  });
  it('of two large texts that share nothing has an end', () => {
    const [old, now] = [lines(20_000), lines(20_000).map((line) => `x${line}`)];
    const told = difference(old.join('\n'), now.join('\n')).split('\n');
    expect(told).toHaveLength(40_000);
    expect(told[0]).toBe('-line 0');
    expect(told[20_000]).toBe('+xline 0');
  });
});
