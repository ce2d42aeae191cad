// Content that was written or changed after an agent read untrusted text.

import type { Untrusted } from './answers';

export type Kind = Untrusted['kind'];
const NAMES: Record<Kind, string> = { file: 'File', agent: 'Agent', job: 'Job', session: 'Conversation' };
export const kindName = (kind: Kind): string => NAMES[kind];

/** How it became untrusted, as one sentence. */
export function became({ kind, author, source }: Pick<Untrusted, 'kind' | 'author' | 'source'>): string {
  if (author) return `Written by ${author} after reading ${source}.`;
  return kind === 'session' ? `Contains untrusted text from ${source}.` : `Written after reading ${source}.`;
}

/** The page on which it can be read before it is trusted, as the parts of its address. */
export function pageOf({ kind, id }: Pick<Untrusted, 'kind' | 'id'>): [string, ...string[]] | null {
  if (kind === 'session') return ['chat', id];
  if (kind === 'job') return ['cron'];
  if (kind === 'agent') return ['agents', id];
  const [, agent, path] = /^agents\/([^/]+)\/(.+)$/.exec(id) ?? [];
  return agent && path ? ['workspace', agent, ...path.split('/')] : null;
}

/** The untrusted objects of one kind, by id. */
export const ofKind = (objects: Untrusted[] | undefined, kind: Kind): Map<string, Untrusted> => new Map((objects ?? []).filter((one) => one.kind === kind).map((one) => [one.id, one]));
