// How well a text fits what was typed, for short names: whole words first, then beginnings, parts, and letters in order.

const edge = (text: string, at: number) => at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1] ?? '') || (/\p{Lu}/u.test(text[at] ?? '') && /\p{Ll}/u.test(text[at - 1] ?? ''));

function one(text: string, word: string): number {
  const lower = text.toLowerCase();
  let best = 0;
  for (let at = lower.indexOf(word); at >= 0; at = lower.indexOf(word, at + 1)) {
    const whole = !/[\p{L}\p{N}]/u.test(lower[at + word.length] ?? ' ');
    best = Math.max(best, edge(text, at) ? (whole ? 100 : 85) - Math.min(20, at / 4) : 50);
  }
  return best || letters(text, lower, word);
}

/** The letters of the word in order, as in `rdf` for `ReadFile`: the first begins a word, and the gaps are small. */
function letters(text: string, lower: string, word: string): number {
  if (word.length < 2) return 0;
  for (let first = lower.indexOf(word[0] ?? ''); first >= 0; first = lower.indexOf(word[0] ?? '', first + 1)) {
    if (!edge(text, first)) continue;
    let at = first;
    let gaps = 0;
    for (const letter of word.slice(1)) {
      const next = lower.indexOf(letter, at + 1);
      if (next < 0) return 0;
      // A letter that begins a word costs nothing.
      if (!edge(text, next)) gaps += next - at - 1;
      at = next;
    }
    if (gaps <= word.length) return 40 - gaps * 3;
  }
  return 0;
}

/** 0 where a word of the query fits nowhere; texts that come first count more. */
export function fits(query: string, texts: string[]): number {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  let sum = 0;
  for (const word of words) {
    const best = Math.max(...texts.map((text, at) => one(text, word) * (at ? 0.5 : 1)));
    if (best <= 0) return 0;
    sum += best;
  }
  return words.length ? sum / words.length : 0;
}
