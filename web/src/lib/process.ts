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
};

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
