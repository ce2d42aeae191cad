// A request for approval as it is shown: which rule asked, why, and what an edit would change.

import '../texts/use/approvals';
import type { Approval, Effect } from './answers';
import { difference } from './diff';
import { t, type Key } from './i18n';

/** A request as newer gateways describe it. An older one names the rule only, and knows neither task nor diff. */
type RuleShown = { text: string; source: string };
export type Asked = Approval & { ruleShown?: RuleShown; reason?: string | null; task?: string | null; diff?: string | null };
/** What an approval card needs at least. */
export type Shown = Pick<Asked, 'id' | 'tool' | 'arguments'> & Partial<Asked>;

/** Where a decision came from: a rule by its position, from 0, or the default that applies where no rule matches. */
export type Source = { kind: 'rule'; at: number } | { kind: 'agent'; agent: string; at: number } | { kind: 'default'; why: string };

/** Reads how the gateway names what decided: `policy.rules.3`, `agents.NAME.policy.rules.0` or `default: WHY`. */
export function sourceOf(rule: string): Source {
  const [, agent, at] = /^(?:agents\.([^.]+)\.)?policy\.rules\.(\d+)$/.exec(rule) ?? [];
  if (at === undefined) return { kind: 'default', why: rule.replace(/^default: /, '') };
  return agent === undefined ? { kind: 'rule', at: Number(at) } : { kind: 'agent', agent, at: Number(at) };
}

/** The gateway's own explanations, so that they can be read in other languages; what is not listed is shown as it came. */
const WHY: Record<string, Key> = {
  'untrusted text was read before, and may be what asks for this': 'approvals.why_untrusted',
  'the tool does not declare what it does': 'approvals.why_undeclared',
  'the owner may call every tool': 'approvals.why_owner',
  'the tool runs programs': 'approvals.why_runs',
  'the tool sends messages': 'approvals.why_sends',
  'the tool neither runs programs nor sends messages': 'approvals.why_harmless',
  "the agent's mode is read-only": 'approvals.why_readOnly',
  'the tool only reads': 'approvals.why_reads',
  'it is part of the answer in this chat': 'approvals.why_answer',
  'it sends something to people or services': 'approvals.why_contacts',
  'it runs a program outside of the sandbox': 'approvals.why_unconfined',
  "it changes something outside of the agent's own folders": 'approvals.why_outside',
  "it stays inside the sandbox and the agent's own folders": 'approvals.why_inside',
  "the agent's mode is auto": 'approvals.why_auto',
  role: 'approvals.why_role',
  administration: 'approvals.why_administration',
};
export const whyText = (why: string): string => (Object.hasOwn(WHY, why) ? t(WHY[why] as Key) : why);

/** Which rule asked, where that is known. */
export function askedBy(asked: Pick<Shown, 'rule' | 'ruleShown'>): { source: Source; text: string } | null {
  if (!asked.rule) return null;
  const source = sourceOf(asked.rule);
  // A default has no text but its explanation; a rule that has changed since has none either.
  const text = source.kind === 'default' || asked.ruleShown?.text === asked.rule ? '' : (asked.ruleShown?.text ?? '');
  return { source, text };
}

const EFFECTS: Record<Effect, Key> = { reads: 'approvals.effect_reads', writes: 'approvals.effect_writes', runs: 'approvals.effect_runs', sends: 'approvals.effect_sends', leaves: 'approvals.effect_leaves' };
/** What a call may do, in words. */
export const effectName = (effect: string): string => (Object.hasOwn(EFFECTS, effect) ? t(EFFECTS[effect as Effect]) : effect);

const DECISIONS: Record<string, Key> = { allow: 'approvals.decision_allow', ask: 'approvals.decision_ask', deny: 'approvals.decision_deny' };
export const decisionName = (decision: string): string => (Object.hasOwn(DECISIONS, decision) ? t(DECISIONS[decision] as Key) : decision);

const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** What an edit or patch would change, and which arguments it stands for; null for other calls. */
export function changeOf(asked: Pick<Shown, 'arguments' | 'diff'>): { diff: string; path: string; rest: Record<string, unknown> } | null {
  const args = typeof asked.arguments === 'object' && asked.arguments !== null && !Array.isArray(asked.arguments) ? (asked.arguments as Record<string, unknown>) : {};
  const path = text(args.path) ?? text(args.file) ?? '';
  const without = (...names: string[]) => Object.fromEntries(Object.entries(args).filter(([name]) => name !== 'path' && name !== 'file' && !names.includes(name)));
  const [from, to] = [text(args.oldString) ?? text(args.old_string), text(args.newString) ?? text(args.new_string)];
  if (asked.diff) return { diff: asked.diff, path, rest: without('oldString', 'newString', 'old_string', 'new_string', 'patch', 'content') };
  if (from !== null && to !== null) return { diff: difference(from, to), path, rest: without('oldString', 'newString', 'old_string', 'new_string') };
  const patch = text(args.patch);
  return patch ? { diff: patch, path, rest: without('patch') } : null;
}
