// The audit as it is looked at: what is asked for, and pages put together.

import type { AuditEntry } from './answers';

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
