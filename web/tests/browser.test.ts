import { afterEach, describe, expect, it, vi } from 'vitest';
import { copy, randomId } from '../src/lib/browser';

afterEach(() => vi.unstubAllGlobals());

describe('where the browser gives little', () => {
  it('ids are random all the same, and of the same shape', () => {
    const real = crypto;
    vi.stubGlobal('crypto', { getRandomValues: (bytes: Uint8Array<ArrayBuffer>) => real.getRandomValues(bytes) });
    const ids = Array.from({ length: 100 }, randomId);
    expect(new Set(ids).size).toBe(100);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });
  it('copying says that it did not work', async () => {
    vi.stubGlobal('navigator', {});
    expect(await copy('x')).toBe(false);
    vi.stubGlobal('navigator', { clipboard: { writeText: () => Promise.resolve() } });
    expect(await copy('x')).toBe(true);
  });
});
