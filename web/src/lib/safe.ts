// Text of others, made safe to look at. Nothing here makes markup: a text becomes pieces, and what
// would act on the reader's eyes (control characters, bidi overrides, invisible ones) becomes a piece
// of its own that is shown by name.

/** A piece of text, or one odd character and what it is. */
export type Piece = { text: string; odd?: string };

// Left alone: newline, tab, and the joiners that scripts and emoji need.
const ODD =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

const NAMES: Record<number, string> = {
  0x00ad: 'soft hyphen',
  0x061c: 'Arabic letter mark',
  0x200b: 'zero width space',
  0x200e: 'left-to-right mark',
  0x200f: 'right-to-left mark',
  0x202a: 'left-to-right embedding',
  0x202b: 'right-to-left embedding',
  0x202c: 'end of direction',
  0x202d: 'left-to-right override',
  0x202e: 'right-to-left override',
  0x2066: 'left-to-right isolate',
  0x2067: 'right-to-left isolate',
  0x2068: 'first strong isolate',
  0x2069: 'end of isolate',
  0xfeff: 'byte order mark',
};

/** The most pieces of one text: a text of nothing but odd characters must not become a page of elements. */
const MOST_PIECES = 2_000;

const SHORT = 'NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US'.split(' ');

function sign(code: number): string {
  if (code < 0x20) return SHORT[code] ?? '';
  if (code === 0x7f) return 'DEL';
  return `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}

function name(code: number): string {
  const hex = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
  const known = NAMES[code] ?? (code < 0x20 || (code >= 0x7f && code < 0xa0) ? 'control character' : 'invisible character');
  return `${hex} ${known}`;
}

/** The text in pieces. */
export function pieces(text: string): Piece[] {
  const plain = text.replaceAll('\r\n', '\n');
  const found: Piece[] = [];
  let from = 0;
  for (const match of plain.matchAll(ODD)) {
    if (found.length >= MOST_PIECES) break;
    if (match.index > from) found.push({ text: plain.slice(from, match.index) });
    const code = match[0].codePointAt(0) ?? 0;
    found.push({ text: sign(code), odd: name(code) });
    from = match.index + match[0].length;
  }
  const rest = plain.slice(from);
  // Past the most, odd characters are still not let through.
  if (rest) found.push({ text: rest.replace(ODD, '\ufffd') });
  return found;
}

/** The same as one text, for places that take no elements: titles, options, attributes. */
export function plain(text: string, most = 200): string {
  const shown = pieces(text.slice(0, most + 1)).map((piece) => piece.text).join('');
  return shown.length > most ? `${shown.slice(0, most)}\u2026` : shown;
}

/** The beginning of a text that is not longer than so many characters and lines, and how much is left. */
export function bounded(text: string, most: number, lines = Infinity): { shown: string; left: number } {
  let end = Math.min(text.length, most);
  if (lines !== Infinity) {
    let at = -1;
    for (let line = 0; line < lines; line++) {
      at = text.indexOf('\n', at + 1);
      if (at === -1) break;
    }
    if (at !== -1) end = Math.min(end, at);
  }
  // Never between the two halves of one character.
  const last = text.charCodeAt(end - 1);
  if (end < text.length && last >= 0xd800 && last < 0xdc00) end -= 1;
  return { shown: text.slice(0, end), left: text.length - end };
}

/** Text whose lines were broken to fit a file, as paragraphs. */
export function flowing(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(/([^\n])\n(?![\n\s]|[-*+|>#]|```|\d+[.)])/g, '$1 ');
}

/** A result that is a JSON object, with its longer texts line by line; other results as they are. */
export function laidOut(result: string): string {
  if (!result.startsWith('{')) return result;
  let told: Record<string, unknown>;
  try {
    told = JSON.parse(result) as Record<string, unknown>;
  } catch {
    return result;
  }
  const lines = Object.entries(told).map(([key, value]) => {
    if (typeof value === 'string' && value.includes('\n')) return `${key}:\n${value.replace(/\n$/, '').replace(/^/gm, '  ')}`;
    return `${key}: ${typeof value === 'string' ? value : JSON.stringify(value, null, 2)}`;
  });
  return lines.join('\n');
}

/** Any value as text to read: strings as they are, the rest as indented JSON. */
export function readable(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === undefined) return '';
  return JSON.stringify(value, null, 2) ?? '';
}
