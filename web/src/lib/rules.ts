// A rule of the policy as a form has it, and as the settings have it.

import type { Rule } from './answers';

export const TESTS = ['equals', 'contains', 'starts_with', 'matches'] as const;
export type Test = (typeof TESTS)[number];
export type Condition = { argument: string; test: Test; value: string };
export type RuleForm = { decision: string; tools: string; effects: string[]; callers: string; agents: string; network: boolean; reason: string; when: Condition[] };

const words = (list: string[] | undefined) => (list ?? []).join(', ');
const list = (text: string) => text.split(/[\s,]+/).filter(Boolean);

export function formOf(rule: Rule | null): RuleForm {
  const tools = (rule?.tools ?? []).filter((one) => one !== '*' || (rule?.tools?.length ?? 0) > 1);
  const when = Object.entries((rule?.when ?? {}) as Record<string, Record<string, unknown>>).flatMap(([argument, tests]) =>
    TESTS.filter((test) => tests[test] !== undefined && tests[test] !== null).map((test): Condition => {
      const value = tests[test];
      return { argument, test, value: typeof value === 'string' ? value : JSON.stringify(value) };
    }),
  );
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

/** A value that is compared: a number, yes or no where it reads as one, else the text. */
function literal(text: string): unknown {
  return /^(?:-?\d+(?:\.\d+)?|true|false|null)$/.test(text) ? (JSON.parse(text) as unknown) : text;
}

/** The rule that a form says; what is not said is left out. */
export function ruleOf(form: RuleForm): Rule {
  const when: Record<string, Record<string, unknown>> = {};
  for (const { argument, test, value } of form.when) {
    if (!argument.trim()) continue;
    when[argument.trim()] = { ...when[argument.trim()], [test]: test === 'equals' ? literal(value) : value };
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
