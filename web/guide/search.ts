// Full-text search over the sections of the guide. Every word of the query has to occur in a section; what
// stands in a heading counts more than what stands in the text, and whole words count more than parts.

export type Section = {
  /** Address of the section, relative to the guide's folder. */
  url: string;
  /** Title of the chapter. */
  chapter: string;
  /** Heading of the section. */
  heading: string;
  text: string;
};
export type Piece = { text: string; match: boolean };
export type Result = { section: Section; score: number };

/** More results than these are not shown: a narrower query finds what is left out. */
const MOST = 20;
/** Characters shown of a section's text. */
const SNIPPET = 160;

export function words(query: string): string[] {
  return query.toLowerCase().split(/[^\p{L}\p{N}_.:-]+/u).filter(Boolean);
}

/** How well one word fits a text: whole word, start of a word, anywhere, not at all. */
function fit(text: string, word: string): number {
  let best = 0;
  for (let at = text.indexOf(word); at >= 0 && best < 3; at = text.indexOf(word, at + 1)) {
    const edge = (index: number) => !/[\p{L}\p{N}]/u.test(text[index] ?? ' ');
    const score = edge(at - 1) ? (edge(at + word.length) ? 3 : 2) : 1;
    best = Math.max(best, score);
  }
  return best;
}

export function search(sections: Section[], query: string): Result[] {
  const wanted = words(query);
  if (!wanted.length) return [];
  const found: Result[] = [];
  for (const section of sections) {
    const heading = section.heading.toLowerCase();
    const chapter = section.chapter.toLowerCase();
    const text = section.text.toLowerCase();
    let score = 0;
    for (const word of wanted) {
      const one = fit(heading, word) * 4 + fit(chapter, word) * 2 + fit(text, word);
      if (!one) {
        score = 0;
        break;
      }
      score += one;
    }
    // Generated reference pages repeat many words; the chapters explain them.
    if (score) found.push({ section, score: section.url.startsWith('reference/') ? score - 2 : score });
  }
  return found.sort((a, b) => b.score - a.score).slice(0, MOST);
}

/** The part of a text around the first match, with all matches marked. */
export function snippet(text: string, query: string): Piece[] {
  const wanted = words(query);
  const lower = text.toLowerCase();
  const first = Math.min(...wanted.map((word) => lower.indexOf(word)).filter((at) => at >= 0), text.length);
  const from = first === text.length ? 0 : Math.max(0, first - 40);
  const shown = `${from ? '…' : ''}${text.slice(from, from + SNIPPET)}${from + SNIPPET < text.length ? '…' : ''}`;
  const quoted = wanted.map((word) => word.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
  if (!quoted.length) return [{ text: shown, match: false }];
  return shown
    .split(new RegExp(`(${quoted.join('|')})`, 'giu'))
    .map((piece, at) => ({ text: piece, match: at % 2 === 1 }))
    .filter((piece) => piece.text);
}
