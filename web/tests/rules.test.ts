import { describe, expect, it } from 'vitest';
import type { Rule } from '../src/lib/answers';
import { formOf, moved, ruleOf } from '../src/lib/rules';

describe('a rule as a form', () => {
  it('is the same rule when nothing was changed', () => {
    const rule: Partial<Rule> = { decision: 'deny', tools: ['gsv__*', 'bash'], effects: ['runs'], callers: ['client:*'], agents: ['main'], when: { command: { contains: 'rm' }, deep: { equals: 5 } }, reason: 'no' };
    expect(ruleOf(formOf(rule as Rule))).toEqual(rule);
  });
  it('says nothing that was not said', () => {
    expect(ruleOf(formOf(null))).toEqual({ decision: 'ask', tools: ['*'] });
    expect(formOf({ decision: 'allow', tools: ['*'] } as Rule).tools).toBe('');
  });
  it('lets programs use the network only where they run', () => {
    expect(ruleOf({ ...formOf(null), decision: 'deny', network: true })).not.toHaveProperty('network');
    expect(ruleOf({ ...formOf(null), decision: 'allow', network: true })).toHaveProperty('network', true);
  });
  it('puts several tests of one argument together, and leaves out one without a name', () => {
    const when = [
      { argument: 'path', test: 'starts_with' as const, value: '/etc' },
      { argument: 'path', test: 'contains' as const, value: 'pass' },
      { argument: ' ', test: 'equals' as const, value: 'x' },
    ];
    expect(ruleOf({ ...formOf(null), when }).when).toEqual({ path: { starts_with: '/etc', contains: 'pass' } });
  });
  it('moves within the list and not out of it', () => {
    expect(moved(['a', 'b', 'c'], 2, 0)).toEqual(['c', 'a', 'b']);
    expect(moved(['a', 'b'], 0, -1)).toEqual(['a', 'b']);
    expect(moved(['a', 'b'], 1, 2)).toEqual(['a', 'b']);
  });
});
