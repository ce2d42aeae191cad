// The audit log as people read it: who did what to what, with the entries of one call as one row.

import '../texts/use/activity';
import type { AuditEntry } from './answers';
import { t } from './i18n';
import { plain } from './safe';
import { caller as readable } from './words';

export type WhoKind = 'person' | 'agent' | 'token' | 'node' | 'gateway';
/** Who made a call: by what it is filtered, and as people know it. */
export type Caller = { key: string; name: string; kind: WhoKind };

/** What newer gateways add to an entry. */
type Newer = { who?: { name: string; kind?: string }; session?: string | null };

const KINDS: Record<string, WhoKind> = { person: 'person', agent: 'agent', token: 'token', node: 'node' };

export function whoOf(entry: AuditEntry): Caller {
  const { caller } = entry;
  const { who } = entry as AuditEntry & Newer;
  if (who) return { key: caller, name: plain(readable(who.name), 60), kind: KINDS[who.kind ?? ''] ?? 'gateway' };
  const [first = '', second = '', ...rest] = readable(caller).split(':');
  if (['owner', 'client', 'read-only'].includes(first)) return { key: caller, name: plain(second || first, 60), kind: 'token' };
  if (first === 'person' || first === 'guest') return { key: caller, name: plain([second, ...rest].filter(Boolean).join(' ') || first, 60), kind: 'person' };
  if (first === 'node') return { key: caller, name: plain(second || first, 60), kind: 'node' };
  if (first === 'agent') return { key: caller, name: plain(second || first, 60), kind: 'agent' };
  return { key: caller, name: plain(caller || 'gateway', 60), kind: 'gateway' };
}

/** The conversation in which a call was made, where the gateway says so. */
export const sessionOf = (entry: AuditEntry): string | null => (entry as AuditEntry & Newer).session ?? null;

/** One call, or one event: the entry that tells most, and all of them, oldest first. */
export type Action = { id: string; entry: AuditEntry; entries: AuditEntry[] };

/** Entries (newest first) with those of one call together. */
export function actionsOf(entries: AuditEntry[]): Action[] {
  const calls = new Map<string, Action>();
  const found: Action[] = [];
  for (const entry of entries) {
    const known = entry.call ? calls.get(entry.call) : undefined;
    if (known) {
      known.entries.unshift(entry);
      // How it ended tells more than that it began.
      if (known.entry.kind === 'started' && entry.kind !== 'started') known.entry = entry;
      continue;
    }
    const action: Action = { id: entry.call ?? `seq ${entry.seq}`, entry, entries: [entry] };
    if (entry.call) calls.set(entry.call, action);
    found.push(action);
  }
  return found;
}

/** The arguments in a summary; null where it is no object, or was cut. */
export function argumentsOf(summary: string): Record<string, unknown> | null {
  if (!summary.startsWith('{')) return null;
  try {
    return JSON.parse(summary) as Record<string, unknown>;
  } catch {
    return null;
  }
}

/** Arguments that say what a call was about, the most telling first. */
const TELLING = ['path', 'file', 'url', 'command', 'cmd', 'query', 'pattern', 'to', 'contact_id', 'name', 'sessionKey', 'agentId', 'action', 'id', 'message', 'content', 'text', 'code'];

/** What a call was about, in one line. */
export function targetOf(summary: string): string {
  const given = argumentsOf(summary);
  const key = given && TELLING.find((name) => typeof given[name] === 'string' && given[name] !== '');
  const text = key ? String(given[key]) : given ? Object.values(given).filter((one) => typeof one !== 'object').map(String).join(' ') : (/"(?:path|command|url|query)":"((?:[^"\\]|\\.)*)/.exec(summary)?.[1] ?? summary);
  return plain(text.replace(/\s+/g, ' ').trim(), 160);
}

const CODES = {
  unknown_tool: t('activity.code_unknown_tool'), invalid_arguments: t('activity.code_invalid_arguments'), unauthenticated: t('activity.code_unauthenticated'), forbidden: t('activity.code_forbidden'),
  denied_by_policy: t('activity.code_denied_by_policy'), approval_required: t('activity.code_approval_required'), approval_denied: t('activity.code_approval_denied'), rate_limited: t('activity.code_rate_limited'),
  budget_exceeded: t('activity.code_budget_exceeded'), deadline_exceeded: t('activity.code_deadline_exceeded'), cancelled: t('activity.code_cancelled'), not_found: t('activity.code_not_found'),
  conflict: t('activity.code_conflict'), too_large: t('activity.code_too_large'), storage_full: t('activity.code_storage_full'), unavailable: t('activity.code_unavailable'), failed: t('activity.code_failed'), internal: t('activity.code_internal'),
} as const;

/** How a call ended, in words, and what colour that has. */
export function resultOf({ entry }: Pick<Action, 'entry'>): { word: string; kind: 'good' | 'bad' | 'warn' | '' } {
  if (entry.status === 'error') {
    const word = CODES[entry.code as keyof typeof CODES] ?? (plain(entry.code, 30).replaceAll('_', ' ') || t('common.failed'));
    return { word, kind: entry.code === 'approval_required' ? 'warn' : 'bad' };
  }
  if (entry.kind === 'started') return { word: t('activity.started'), kind: 'warn' };
  return entry.kind === 'event' ? { word: t('activity.event'), kind: '' } : { word: t('activity.ok'), kind: 'good' };
}

const EVENTS: Record<string, string> = {
  'channel.login': t('activity.ev_channel_login'), 'config.reload': t('activity.ev_config_reload'), 'config.set': t('activity.ev_config_set'), 'connection.add': t('activity.ev_connection_add'),
  'connection.change': t('activity.ev_connection_change'), 'connection.remove': t('activity.ev_connection_remove'), 'model.add': t('activity.ev_model_add'), 'model.remove': t('activity.ev_model_remove'),
  'model.test': t('activity.ev_model_test'), 'node.code': t('activity.ev_node_code'), 'node.enrol': t('activity.ev_node_enrol'), 'node.forget': t('activity.ev_node_forget'), 'node.rename': t('activity.ev_node_rename'),
  'node.revoke': t('activity.ev_node_revoke'), 'page.link': t('activity.ev_page_link'), 'page.login': t('activity.ev_page_login'), 'page.logout': t('activity.ev_page_logout'), 'pair.approve': t('activity.ev_pair_approve'),
  'pair.forget': t('activity.ev_pair_forget'), 'pair.reject': t('activity.ev_pair_reject'), 'resource.create': t('activity.ev_resource_create'), 'resource.grant': t('activity.ev_resource_grant'),
  'resource.remove': t('activity.ev_resource_remove'), 'resource.revoke': t('activity.ev_resource_revoke'), 'secret.remove': t('activity.ev_secret_remove'), 'secret.set': t('activity.ev_secret_set'),
  'server.accept': t('activity.ev_server_accept'), 'server.login': t('activity.ev_server_login'), 'server.logout': t('activity.ev_server_logout'), 'session.compact': t('activity.ev_session_compact'),
  'session.delete': t('activity.ev_session_delete'), 'session.patch': t('activity.ev_session_patch'), 'session.reset': t('activity.ev_session_reset'), 'session.rewind': t('activity.ev_session_rewind'),
  'token.create': t('activity.ev_token_create'), 'token.revoke': t('activity.ev_token_revoke'),
};
/** What was done: an event in words, a tool by its name. */
export const whatOf = (entry: AuditEntry): { text: string; event: boolean } => {
  const words = EVENTS[entry.tool];
  return words ? { text: words, event: true } : { text: plain(entry.tool || entry.kind, 100), event: false };
};

export type Wanted = { tool: string; caller: string; agent: string; status: string; call: string };

/** What the gateway is asked: part of a tool's name is enough. */
export function asked({ tool, caller, agent, status, call }: Wanted): Record<string, string> {
  const name = tool.trim();
  const all = { tool: name && !name.includes('*') ? `*${name}*` : name, caller, agent, status, call };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value));
}

/** Entries and those that came, newest first, each once. */
export function joined(entries: AuditEntry[], came: AuditEntry[]): AuditEntry[] {
  if (!came.length) return entries;
  const known = new Set(entries.map((one) => one.seq));
  const fresh = came.filter((one) => !known.has(one.seq));
  return fresh.length ? [...entries, ...fresh].sort((one, other) => other.seq - one.seq) : entries;
}

/** The entry that was written nearest to a moment; an end tells more than a beginning. */
export function nearest(entries: AuditEntry[], moment: number): AuditEntry | undefined {
  const away = (one: AuditEntry) => Math.abs(one.at - (one.durationUs ?? 0) / 1000 - moment) + (one.kind === 'finished' ? 0 : 1);
  return entries.reduce<AuditEntry | undefined>((best, one) => (best && away(best) <= away(one) ? best : one), undefined);
}
