import { describe, expect, it } from 'vitest';
import type { Rule } from '../src/lib/answers';
import { formOf, moved, readRule, ruleOf } from '../src/lib/rules';

describe('a rule as a form', () => {
  it('is the same rule when nothing was changed', () => {
    const rule: Partial<Rule> = { decision: 'deny', tools: ['gsv__*', 'bash'], effects: ['runs'], callers: ['client:*'], agents: ['main'], when: { command: { contains: 'rm' }, deep: { equals: 5 } }, reason: 'no' };
    expect(ruleOf(formOf(rule as Rule))).toEqual(rule);
  });
  it('keeps tests of hosts and programs, and texts that read as something else', () => {
    const when = {
      url: { host: ['example.com', '*.example.org'] },
      command: { program: ['git', 'my editor'] },
      argv: { program: ['a,b', '[', ' c'] },
      chat_id: { equals: '42' },
      to: { equals: '"quoted"' },
      flag: { equals: 'true' },
      deep: { equals: { list: [1, 'x'] } },
      odd: { equals: '[not json' },
    };
    const rule = { decision: 'allow', tools: ['x'], when } as unknown as Rule;
    expect(ruleOf(formOf(rule))).toEqual(rule);
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

describe('a rule as it is read', () => {
  it('names everything that has to match', () => {
    const when = { command: { program: ['git', 'make'] }, url: { host: ['example.com'] }, to: { equals: 'ada' } };
    const rule = { decision: 'allow', tools: ['gsv__Bash'], agents: ['main'], callers: ['owner:*'], when } as unknown as Rule;
    expect(readRule(rule).map(({ label, value }) => `${label}: ${value}`)).toEqual([
      'Tool: gsv__Bash',
      'Agent: main',
      'Caller: owner:*',
      'Only if: command runs only git or make',
      'Only if: url is a URL of example.com',
      'Only if: to is "ada"',
    ]);
  });
  it('says where anything matches, and what programs may do', () => {
    const rule = { decision: 'allow', effects: ['runs'], network: true } as unknown as Rule;
    expect(readRule(rule).map(({ value }) => value)).toEqual(['Any tool', 'Any agent', 'Any caller', 'runs programs', 'Programs it starts may use the network']);
  });
});
