// A rule of the policy as a form has it, as the settings have it, and as it is read.

import '../texts/use/approvals';
import type { Rule } from './answers';
import { effectName } from './approvals';
import { t, type Key } from './i18n';

export const TESTS = ['equals', 'contains', 'starts_with', 'matches', 'host', 'program'] as const;
export type Test = (typeof TESTS)[number];
export type Condition = { argument: string; test: Test; value: string };
export type RuleForm = { decision: string; tools: string; effects: string[]; callers: string; agents: string; network: boolean; reason: string; when: Condition[] };

/** Tests that hold a list of patterns. */
const LISTS: readonly Test[] = ['host', 'program'];
const TEST_KEYS: Record<Test, Key> = {
  equals: 'approvals.test_equals',
  contains: 'approvals.test_contains',
  starts_with: 'approvals.test_starts_with',
  matches: 'approvals.test_matches',
  host: 'approvals.test_host',
  program: 'approvals.test_program',
};
export const testName = (test: Test): string => t(TEST_KEYS[test]);

const words = (list: string[] | undefined) => (list ?? []).join(', ');
const list = (text: string) => text.split(/[\s,]+/).filter(Boolean);
// Names of programs may hold spaces, and even commas: what a comma would divide otherwise is written as JSON.
const patterns = (values: string[]) => (values.some((one) => /,|^\s|\s$|^\[/.test(one)) ? JSON.stringify(values) : values.join(', '));
function patternsOf(text: string): string[] {
  const read = literal(text.trim());
  return Array.isArray(read) ? read.map(String) : text.split(',').map((one) => one.trim()).filter(Boolean);
}

export function formOf(rule: Rule | null): RuleForm {
  const tools = (rule?.tools ?? []).filter((one) => one !== '*' || (rule?.tools?.length ?? 0) > 1);
  const when = conditions(rule).map(({ argument, test, value }): Condition => {
    if (Array.isArray(value) && LISTS.includes(test)) return { argument, test, value: patterns(value as string[]) };
    // A text that reads as something else, such as "42", stands in quotes: saving the form must not turn it into a number.
    const text = typeof value === 'string' && (test !== 'equals' || literal(value) === value);
    return { argument, test, value: text ? value : JSON.stringify(value) };
  });
  return {
    decision: rule?.decision ?? 'ask',
    tools: words(tools),
    effects: [...(rule?.effects ?? [])],
    callers: words(rule?.callers),
    agents: words(rule?.agents),
    network: rule?.network ?? false,
    reason: rule?.reason ?? '',
    when,
  };
}

/** Every test of a rule. */
function conditions(rule: Rule | null): { argument: string; test: Test; value: unknown }[] {
  const when = Object.entries((rule?.when ?? {}) as Record<string, Partial<Record<Test, unknown>>>);
  return when.flatMap(([argument, tests]) => TESTS.filter((test) => tests[test] !== undefined && tests[test] !== null).map((test) => ({ argument, test, value: tests[test] })));
}

/** A value to compare with: JSON where it reads as JSON, else the text itself. */
function literal(text: string): unknown {
  if (!/^(?:-?\d+(?:\.\d+)?$|true$|false$|null$|["[{])/.test(text)) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

const escaped = (text: string) => text.replace(/[\\^$.*+?()[\]{}|-]/g, (one) => `\\${one}`);

/** An expression for paths that do not begin with this folder: the gateway's expressions know no negation. */
export function outside(folder: string): string {
  const letters = [...folder];
  return `^(?:${letters.map((letter, at) => `${escaped(letters.slice(0, at).join(''))}(?:[^${escaped(letter)}]|$)`).join('|')})`;
}
/** The folder of such an expression, or null for another one. */
function folderOf(expression: unknown): string | null {
  if (typeof expression !== 'string' || !expression.startsWith('^(?:')) return null;
  const [, before = '', last = ''] = /^(.*)\(\?:\[\^(\\?.)\]\|\$\)$/u.exec(expression.slice(4, -1).split(/(?<=\|\$\))\|/).at(-1) ?? '') ?? [];
  const folder = (before + last).replace(/\\(.)/gu, '$1');
  return folder && outside(folder) === expression ? folder : null;
}

/** A condition of a rule as it is read, such as `path starts with "memory/"`. */
export function readConditions(rule: Rule): string[] {
  const shown = (test: Test, value: unknown) => (Array.isArray(value) && LISTS.includes(test) ? value.join(t('approvals.or')) : JSON.stringify(value));
  return conditions(rule).map(({ argument, test, value }) => {
    const folder = test === 'matches' ? folderOf(value) : null;
    return folder ? t('approvals.outside', { argument, folder }) : t('approvals.condition', { argument, test: testName(test), value: shown(test, value) });
  });
}

/** A rule as its owner reads it before it is added: everything that has to match, with nothing left out. */
export function readRule(rule: Rule): { label: string; value: string }[] {
  const any = (values: string[] | undefined, none: Key) => (values?.length ? values.join(', ') : t(none));
  return [
    { label: t('common.tool'), value: any(rule.tools?.filter((one, _, all) => one !== '*' || all.length > 1), 'approvals.anyTool') },
    { label: t('common.agent'), value: any(rule.agents, 'approvals.anyAgent') },
    { label: t('approvals.caller'), value: any(rule.callers, 'approvals.anyCaller') },
    ...(rule.effects?.length ? [{ label: t('approvals.effects'), value: rule.effects.map(effectName).join(', ') }] : []),
    ...readConditions(rule).map((value) => ({ label: t('approvals.onlyIf'), value })),
    ...(rule.network ? [{ label: t('approvals.network'), value: t('approvals.networkAllowed') }] : []),
  ];
}

/** The rule that a form says; what is not said is left out. */
export function ruleOf(form: RuleForm): Rule {
  const when: Record<string, Record<string, unknown>> = {};
  for (const { argument, test, value } of form.when) {
    if (!argument.trim()) continue;
    when[argument.trim()] = { ...when[argument.trim()], [test]: test === 'equals' ? literal(value) : LISTS.includes(test) ? patternsOf(value) : value };
  }
  const [tools, callers, agents] = [list(form.tools), list(form.callers), list(form.agents)];
  const rule = {
    decision: form.decision,
    tools: tools.length ? tools : ['*'],
    ...(form.effects.length ? { effects: form.effects } : {}),
    ...(callers.length ? { callers } : {}),
    ...(agents.length ? { agents } : {}),
    ...(Object.keys(when).length ? { when } : {}),
    ...(form.network && form.decision === 'allow' ? { network: true } : {}),
    ...(form.reason.trim() ? { reason: form.reason.trim() } : {}),
  };
  return rule as Rule;
}

/** The list with one of it at another place. */
export function moved<T>(all: T[], from: number, to: number): T[] {
  const one = all[from];
  if (one === undefined || to < 0 || to >= all.length) return all;
  return all.toSpliced(from, 1).toSpliced(to, 0, one);
}
