// Content that was written or changed after an agent read untrusted text.

import '../texts/use/approvals';
import type { Untrusted } from './answers';
import { t, type Key } from './i18n';
import { caller } from './words';

export type Kind = Untrusted['kind'];
const NAMES: Record<Kind, Key> = { file: 'approvals.kind_file', agent: 'common.agent', job: 'approvals.kind_job', session: 'common.conversation' };
export const kindName = (kind: Kind): string => t(NAMES[kind]);

/** How it became untrusted, as one sentence. */
export function became({ kind, author, source }: Pick<Untrusted, 'kind' | 'author' | 'source'>): string {
  if (author) return t('approvals.writtenBy', { author: caller(author), source });
  return kind === 'session' ? t('approvals.contains', { source }) : t('approvals.writtenAfter', { source });
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
