// Names of conversations that have neither a label nor a title.

import { t } from './i18n';
import { plain } from './safe';

/** The job that a conversation is a run of, if it is one. */
export function jobOf(key: string): string | null {
  const [, , kind, job] = key.split(':');
  return kind === 'cron' ? (job ?? '') : null;
}

/** Whether a conversation is called by its title: its key is only a number. */
export const titled = (key: string): boolean => /(^|[:-])[0-9a-f]{4,}(-|$)/.test(key.split(':').slice(2).join(':')) && jobOf(key) === null && !key.includes(':dm:');

/** What is told of a session by its key; jobs and people (`telegram:42`) by their names, where they are known. */
export function talkName(key: string, label?: string | null, jobs?: Map<string, string>, people?: Map<string, string>): string {
  if (label) return plain(label, 80);
  const [, who = '', ...rest] = key.split(':');
  const place = rest.join(':');
  const job = jobOf(key);
  if (job !== null) return plain(`${jobs?.get(job) ?? t('parts.jobRun')}${who === 'main' ? '' : `, ${who}`}`, 80);
  const [, channel = '', id = ''] = /^([a-z]+):dm:([^:]+)$/.exec(place) ?? [];
  const person = people?.get(`${channel}:${id}`);
  if (person) return plain(`${person}, ${channel.charAt(0).toUpperCase()}${channel.slice(1)}${who === 'main' ? '' : `, ${who}`}`, 80);
  if (/^talk-[0-9a-f]+$/.test(place)) return t('parts.newConversation');
  if (place === 'main') return who === 'main' ? t('parts.mainConversation') : t('parts.mainOf', { agent: plain(who, 60) });
  return plain(who === 'main' ? place : `${who}: ${place}`, 80);
}
