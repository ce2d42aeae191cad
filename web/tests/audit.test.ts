import { describe, expect, it } from 'vitest';
import type { AuditEntry } from '../src/lib/answers';
import { asked, joined, nearest } from '../src/lib/audit';

const entry = (seq: number, more: Partial<AuditEntry> = {}) => ({ seq, at: seq * 1_000, kind: 'finished', durationUs: null, ...more }) as AuditEntry;
const seqs = (all: AuditEntry[]) => all.map((one) => one.seq);

describe('looking at the audit', () => {
  const nothing = { tool: '', caller: '', agent: '', status: '', call: '' };
  it('asks for part of a name, and leaves a pattern as it is', () => {
    expect(asked({ ...nothing, tool: ' Bash ' })).toEqual({ tool: '*Bash*' });
    expect(asked({ ...nothing, tool: 'gsv__*', status: 'error' })).toEqual({ tool: 'gsv__*', status: 'error' });
    expect(asked(nothing)).toEqual({});
  });
  it('puts pages together, newest first and each entry once', () => {
    const before = [entry(5), entry(4)];
    expect(seqs(joined(before, [entry(7), entry(6), entry(5)]))).toEqual([7, 6, 5, 4]);
    expect(seqs(joined(before, [entry(3), entry(2)]))).toEqual([5, 4, 3, 2]);
    expect(joined(before, [entry(4)])).toBe(before);
  });
  it('finds the entry of a call by when it began', () => {
    const all = [entry(9), entry(5, { durationUs: 2_000_000 }), entry(3, { kind: 'started' })];
    expect(nearest(all, 3_000)?.seq).toBe(5);
    expect(nearest(all, 9_100)?.seq).toBe(9);
    expect(nearest([], 1)).toBeUndefined();
  });
});
