import { describe, expect, it } from 'vitest';
import { askedBy, changeOf, sourceOf, whyText } from '../src/lib/approvals';
import { outside, readConditions } from '../src/lib/rules';
import type { Rule } from '../src/lib/answers';
import { templates } from '../src/lib/templates';

describe('what decided', () => {
  it('is a rule by its position, one of an agent, or a default', () => {
    expect(sourceOf('policy.rules.3')).toEqual({ kind: 'rule', at: 3 });
    expect(sourceOf('agents.helper.policy.rules.0')).toEqual({ kind: 'agent', agent: 'helper', at: 0 });
    expect(sourceOf('default: the tool runs programs')).toEqual({ kind: 'default', why: 'the tool runs programs' });
    expect(askedBy({ rule: 'policy.rules.0', ruleShown: { text: 'ask before any shell', source: 'policy.rules.0' } })).toEqual({ source: { kind: 'rule', at: 0 }, text: 'ask before any shell' });
    expect(askedBy({ rule: '' })).toBeNull();
  });
  it('is explained in the words of the page, or else as the gateway says it', () => {
    expect(whyText("the agent's mode is auto")).toBe('the approval mode of the agent is Auto');
    expect(whyText('something new')).toBe('something new');
  });
});

describe('the change of an edit', () => {
  it('is made of its texts, and is the patch of a patch', () => {
    expect(changeOf({ arguments: { path: 'a.md', oldString: 'one\ntwo', newString: 'one\n2', replaceAll: true } })).toEqual({ diff: ' one\n-two\n+2', path: 'a.md', rest: { replaceAll: true } });
    expect(changeOf({ arguments: { path: '.', patch: '--- a\n+++ b' } })).toMatchObject({ diff: '--- a\n+++ b', path: '.', rest: {} });
  });
  it('is what the gateway says where it says it', () => {
    expect(changeOf({ arguments: { path: 'a.md', content: 'x' }, diff: '+x' })).toEqual({ diff: '+x', path: 'a.md', rest: {} });
  });
  it('is nothing for other calls', () => {
    for (const args of [{ cmd: 'ls' }, null, 'text', []]) expect(changeOf({ arguments: args })).toBeNull();
  });
});

describe('rule templates', () => {
  it('keep paths inside a folder, and are read as that', () => {
    const expression = outside('a.b/');
    for (const inside of ['a.b/x', 'a.b/']) expect(new RegExp(expression).test(inside), inside).toBe(false);
    for (const other of ['axb/x', 'a.b', 'x/a.b/', '', 'a.bc/']) expect(new RegExp(expression).test(other), other).toBe(true);
    const rule = { decision: 'deny', when: { path: { matches: expression } } } as unknown as Rule;
    expect(readConditions(rule)).toEqual(['path is outside a.b/']);
    expect(readConditions({ ...rule, when: { path: { matches: '^(?:a|b)' } } } as unknown as Rule)).toEqual(['path matches the expression "^(?:a|b)"']);
  });
  it('are for one agent where one is chosen', () => {
    const [first] = templates();
    const filled = { folder: '', website: '', program: '' };
    expect(first?.rules(filled, '')).toEqual([{ decision: 'ask', tools: ['*'], effects: ['runs'] }]);
    expect(first?.rules(filled, 'main')).toEqual([{ decision: 'ask', tools: ['*'], effects: ['runs'], agents: ['main'] }]);
  });
  it('take websites as people paste them', () => {
    const website = templates().find((one) => one.id === 'allow-website');
    expect(website?.rules({ folder: '', website: 'https://example.com/a, *.example.org', program: '' }, '')[0]?.when).toEqual({ url: { host: ['example.com', '*.example.org'] } });
  });
});
