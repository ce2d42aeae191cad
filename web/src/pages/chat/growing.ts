// A text that comes in pieces, each of which says where it stands: what came before is not doubled, and what is
// missing is noticed.

/** A text, and how much of it came before what is here. */
export type Growing = { text: string; from: number };

export const NOTHING: Growing = { text: '', from: 0 };

/** The text with the next piece, which stands after `offset` letters; `gap` when something before it is missing. */
export function grown(now: Growing, piece: string, offset?: number | null): Growing & { gap: boolean } {
  const end = now.from + now.text.length;
  const at = offset ?? end;
  if (at > end) return { text: piece, from: at, gap: true };
  return { text: now.text + piece.slice(end - at), from: now.from, gap: false };
}

/** The most that is kept of what a running tool prints. */
const LONGEST = 20_000;

/** What a tool printed with the next piece. Some may be missing; the end is kept. */
export function printed(before: Growing, piece: string, offset?: number | null): Growing {
  const next = grown(before, piece, offset);
  const text = next.gap ? before.text + next.text : next.text;
  const end = next.from + next.text.length;
  const kept = text.slice(-LONGEST);
  return { text: kept, from: end - kept.length };
}
