// What a node's `Process` tool lists. A result of a tool, not of the API: nodes bring their own tools.

import '../texts/use/nodes';
import { t } from './i18n';
import { number } from './words';

export type Process = {
  sessionId: string;
  status: string;
  pid: number;
  startedAt: number;
  endedAt: number | null;
  runtimeMs: number;
  workdir: string;
  command: string;
  tail: string;
  exitCode: number | null;
  signal: string | null;
  timedOut?: boolean;
};

/** How a program stands or why it ended, and as what that is shown. */
export function standing(one: Pick<Process, 'status' | 'exitCode' | 'signal' | 'timedOut'>): { word: string; label: string } {
  if (one.status === 'running') return { word: 'running', label: t('common.running') };
  if (one.timedOut) return { word: 'timed_out', label: t('nodes.timedOut') };
  if (one.signal) return { word: 'failed', label: t('nodes.endedBy', { signal: one.signal }) };
  if (one.exitCode === null) return { word: one.status, label: t('nodes.endUnknown') };
  return one.exitCode === 0 ? { word: 'finished', label: t('nodes.finished') } : { word: 'failed', label: t('nodes.exitCode', { code: String(one.exitCode) }) };
}

/** How long a program has run by now, when it was looked at some time ago. */
export const runtime = (one: Pick<Process, 'status' | 'runtimeMs'>, since: number): number => one.runtimeMs + (one.status === 'running' ? Math.max(0, since) : 0);

/** For how long a program may run, in the words of a form. */
export const LENGTHS: [string, number][] = [[t('nodes.hour'), 3_600_000], [t('nodes.day'), 86_400_000], [t('nodes.week'), 7 * 86_400_000], [t('nodes.days30'), 30 * 86_400_000]];

/** How much of what a program printed is kept here: the end of it. */
const KEPT = 100_000;

/** What a watched program printed, piece by piece. */
export class Printed {
  text = '';
  /** Where the next piece begins; nothing has come yet while there is none. */
  next: number | undefined = undefined;

  /** Takes the next piece, and says how much was left out before it. */
  take(piece: { at: number; next: number; text: string }): void {
    const missed = piece.at - (this.next ?? 0);
    if (missed > 0) this.text += `${this.text && !this.text.endsWith('\n') ? '\n' : ''}[${t('nodes.omitted', { n: number(missed) })}]\n`;
    this.text += piece.text;
    this.next = piece.next;
    if (this.text.length > KEPT * 1.5) {
      const end = this.text.slice(-KEPT);
      this.text = end.slice(end.indexOf('\n') + 1);
    }
  }
}
