// What was typed and not sent yet, by conversation: it outlives another page, a reload and a logout elsewhere,
// and goes with the tab.

const KEY = 'manyhands.unsent';
/** How many are kept, and how long they are, each and together. */
const MOST = 40;
const LONGEST = 100_000;
const ALL = 1_000_000;

type Kept = [conversation: string, text: string][];

/** Where drafts are kept; a browser may refuse it. */
function place(): Pick<Storage, 'getItem' | 'setItem' | 'removeItem'> | null {
  try {
    return globalThis.sessionStorage ?? null;
  } catch {
    return null;
  }
}

function read(): Kept {
  try {
    const kept = JSON.parse(place()?.getItem(KEY) ?? '[]') as unknown;
    const sound = (one: unknown) => Array.isArray(one) && one.length === 2 && one.every((part) => typeof part === 'string');
    return Array.isArray(kept) && kept.every(sound) ? (kept as Kept) : [];
  } catch {
    return [];
  }
}

/** The latest drafts that there is room for. */
function bounded(all: Kept): Kept {
  let room = ALL;
  const fits = all.toReversed().filter(([, text], at) => at < MOST && (room -= text.length) >= 0);
  return fits.toReversed();
}

/** What was typed in a conversation. */
export function draft(conversation: string): string {
  return read().find(([key]) => key === conversation)?.[1] ?? '';
}

/** Keeps what is typed in a conversation; nothing lets go of it. */
export function keepDraft(conversation: string, text: string): void {
  const before = read();
  const others = before.filter(([key]) => key !== conversation);
  if (!text && others.length === before.length) return;
  const all = bounded(text ? [...others, [conversation, text.slice(0, LONGEST)]] : others);
  try {
    if (all.length) place()?.setItem(KEY, JSON.stringify(all));
    else place()?.removeItem(KEY);
  } catch {
    // No room for it: what is typed stays where it is typed.
  }
}

/** Lets go of all of them: somebody leaves. */
export function forgetDrafts(): void {
  try {
    place()?.removeItem(KEY);
  } catch {
    // There are none then.
  }
}
