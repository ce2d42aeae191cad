// Searching in what was said: matches by conversation, and marks in the message that was found.

/** The words of a search, as they are looked for in a text. */
const wordsOf = (query: string): string[] => query.toLowerCase().split(/\s+/).filter((word) => word.length > 0);

/** A snippet in pieces, each marked or not. Marks that overlap or lie outside are left out. */
export function pieced(snippet: string, marks: [number, number][]): { text: string; marked: boolean }[] {
  const pieces: { text: string; marked: boolean }[] = [];
  let at = 0;
  for (const [from, to] of marks.toSorted((one, other) => one[0] - other[0])) {
    if (from < at || to <= from || to > snippet.length) continue;
    if (from > at) pieces.push({ text: snippet.slice(at, from), marked: false });
    pieces.push({ text: snippet.slice(from, to), marked: true });
    at = to;
  }
  if (at < snippet.length) pieces.push({ text: snippet.slice(at), marked: false });
  return pieces;
}

/** Marks the words in an element, without changing what is in it; marks elsewhere go. Whether the browser can. */
export function mark(node: HTMLElement, query: string): boolean {
  if (typeof Highlight === 'undefined' || !('highlights' in CSS)) return false;
  const ranges: Range[] = [];
  const words = wordsOf(query);
  const texts = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  while (texts.nextNode() && ranges.length < 500) {
    const text = texts.currentNode;
    const lower = (text.textContent ?? '').toLowerCase();
    for (const word of words) {
      for (let at = lower.indexOf(word); at !== -1; at = lower.indexOf(word, at + word.length)) {
        const range = document.createRange();
        range.setStart(text, at);
        range.setEnd(text, at + word.length);
        ranges.push(range);
      }
    }
  }
  CSS.highlights.set('found', new Highlight(...ranges));
  return ranges.length > 0;
}
