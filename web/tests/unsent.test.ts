import { beforeEach, describe, expect, it, vi } from 'vitest';
import { draft, forgetDrafts, keepDraft } from '../src/lib/unsent';

let kept = new Map<string, string>();
beforeEach(() => {
  kept = new Map();
  vi.stubGlobal('sessionStorage', { getItem: (key: string) => kept.get(key) ?? null, setItem: (key: string, text: string) => kept.set(key, text), removeItem: (key: string) => kept.delete(key) });
});

describe('drafts', () => {
  it('are kept by conversation until they are sent', () => {
    keepDraft('a', 'half a thought');
    keepDraft('b', 'another');
    expect([draft('a'), draft('b'), draft('c')]).toEqual(['half a thought', 'another', '']);
    keepDraft('a', '');
    expect([draft('a'), draft('b')]).toEqual(['', 'another']);
    keepDraft('b', '');
    expect(kept.size, 'nothing is left').toBe(0);
  });
  it('are bounded in number and size: the oldest go', () => {
    for (let at = 0; at < 100; at += 1) keepDraft(`talk-${at}`, 'x'.repeat(200_000));
    const size = [...kept.values()].join('').length;
    expect(size).toBeLessThan(1_100_000);
    expect(draft('talk-99')).toHaveLength(100_000);
    expect(draft('talk-0')).toBe('');
    forgetDrafts();
    for (let at = 0; at < 100; at += 1) keepDraft(`talk-${at}`, 'x');
    expect([draft('talk-99'), draft('talk-60'), draft('talk-59')]).toEqual(['x', 'x', '']);
  });
  it('are let go of when somebody leaves', () => {
    keepDraft('a', 'x');
    forgetDrafts();
    expect(draft('a')).toBe('');
  });
  it('do without a browser that keeps nothing, and with what they did not write', () => {
    for (const odd of ['{', '{}', '[1]', '[["a",1]]', 'null']) {
      kept.set('manyhands.unsent', odd);
      expect(draft('a')).toBe('');
    }
    vi.stubGlobal('sessionStorage', { getItem: () => null, setItem: () => { throw new Error('no room'); }, removeItem: () => undefined });
    expect(() => keepDraft('a', 'x')).not.toThrow();
    vi.stubGlobal('sessionStorage', undefined);
    expect(() => keepDraft('a', 'x')).not.toThrow();
    expect(draft('a')).toBe('');
  });
});
