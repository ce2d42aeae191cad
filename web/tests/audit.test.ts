import { describe, expect, it } from 'vitest';
import type { AuditEntry } from '../src/lib/answers';
import { actionsOf, asked, joined, nearest, resultOf, sessionOf, targetOf, whoOf } from '../src/lib/audit';

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

describe('what the log says in words', () => {
  const call = (seq: number, id: string, more: Partial<AuditEntry> = {}) => entry(seq, { call: id, status: 'ok', code: '', ...more });
  it('shows the entries of one call as one action, with how it ended', () => {
    const actions = actionsOf([call(5, 'b'), call(4, 'a'), call(3, 'b', { kind: 'started', status: '' as AuditEntry['status'] }), entry(2, { call: null, kind: 'event' }), call(1, 'a', { kind: 'started' })]);
    expect(actions.map(({ id, entry: shown, entries }) => [id, shown.seq, seqs(entries)])).toEqual([['b', 5, [3, 5]], ['a', 4, [1, 4]], ['seq 2', 2, [2]]]);
    expect(resultOf({ entry: call(1, 'a', { kind: 'started', status: '' as AuditEntry['status'] }) })).toEqual({ word: 'Running', kind: 'warn' });
    expect(resultOf({ entry: call(1, 'a', { status: 'error', code: 'denied_by_policy' }) })).toEqual({ word: 'Denied by rule', kind: 'bad' });
    expect(resultOf({ entry: call(1, 'a', { status: 'error', code: 'of_tomorrow' }) }).word).toBe('of tomorrow');
  });
  it.each([
    ['owner:laptop:01a1', { kind: 'token', name: 'laptop' }],
    ['owner:browser 2026-11-19T10:00:00.123Z:01a1', { kind: 'token', name: 'Browser' }],
    ['person:telegram:42', { kind: 'person', name: 'telegram 42' }],
    ['node:studio', { kind: 'node', name: 'studio' }],
  ])('knows who %j is', (caller, wanted) => expect(whoOf(entry(1, { caller } as Partial<AuditEntry>))).toMatchObject(wanted));
  it('believes a gateway that says who it is', () => {
    expect(whoOf(entry(1, { caller: 'owner:x:01a1', who: { name: 'Ada', kind: 'person' } } as Partial<AuditEntry>))).toEqual({ key: 'owner:x:01a1', name: 'Ada', kind: 'person' });
    expect(sessionOf(entry(1, { session: 'agent:main:main' } as Partial<AuditEntry>))).toBe('agent:main:main');
    expect(sessionOf(entry(1))).toBeNull();
  });
  it.each([
    ['{"content":"hi","path":"memory/a.md"}', 'memory/a.md'],
    ['{"command":"ls\\n -la"}', 'ls -la'],
    ['{"content":"cut off', '{"content":"cut off'],
    ['{"path":"a.md","content":"cut off', 'a.md'],
    ['3 refusals', '3 refusals'],
  ])('says what %s was about', (summary, wanted) => expect(targetOf(summary)).toBe(wanted));
});
