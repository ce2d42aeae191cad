// What a node's `Process` tool lists. A result of a tool, not of the API: nodes bring their own tools.

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
  if (one.status === 'running') return { word: 'running', label: 'running' };
  if (one.timedOut) return { word: 'timed_out', label: 'stopped: its time was up' };
  if (one.signal) return { word: 'failed', label: `ended by ${one.signal}` };
  if (one.exitCode === null) return { word: one.status, label: `${one.status}: how it ended is not known` };
  return one.exitCode === 0 ? { word: 'finished', label: 'finished' } : { word: 'failed', label: `failed with exit code ${one.exitCode}` };
}

/** How long a program has run by now, when it was looked at some time ago. */
export const runtime = (one: Pick<Process, 'status' | 'runtimeMs'>, since: number): number => one.runtimeMs + (one.status === 'running' ? Math.max(0, since) : 0);

/** For how long a program may run, in the words of a form. */
export const LENGTHS: [string, number][] = [['an hour', 3_600_000], ['a day', 86_400_000], ['a week', 7 * 86_400_000], ['30 days', 30 * 86_400_000]];

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
    if (missed > 0) this.text += `${this.text && !this.text.endsWith('\n') ? '\n' : ''}[${missed.toLocaleString('en')} characters were left out]\n`;
    this.text += piece.text;
    this.next = piece.next;
    if (this.text.length > KEPT * 1.5) {
      const end = this.text.slice(-KEPT);
      this.text = end.slice(end.indexOf('\n') + 1);
    }
  }
}
