// What a program prints for a terminal, in coloured pieces: the SGR part of the escape sequences, read without a
// terminal. All other sequences (cursor moves, titles, links) are dropped.

/** A piece of output: its text, and the classes of its look (`bold`, `dim`, `italic`, `underline`, `fg1`, `bg4`). */
export type AnsiSpan = { text: string; look: string };

const ESC = '\u001b';
const SEQUENCE = new RegExp(`${ESC}(?:\\[([0-?]*)[ -/]*([@-~])|[\\]PX^_][^\\u0007${ESC}]{0,4096}(?:\\u0007|${ESC}\\\\)|[@-Z\\\\^_=>78])`, 'y');
/** More pieces than this are put together, so that output cannot become a page of elements. */
const MOST = 4_000;

type Style = { fg: number | null; bg: number | null; bold: boolean; dim: boolean; italic: boolean; underline: boolean; inverse: boolean };
const NORMAL: Style = { fg: null, bg: null, bold: false, dim: false, italic: false, underline: false, inverse: false };

function lookOf(style: Style): string {
  const [fg, bg] = style.inverse ? [style.bg, style.fg ?? 7] : [style.fg, style.bg];
  return [fg === null ? '' : `fg${fg}`, bg === null ? '' : `bg${bg}`, style.bold && 'bold', style.dim && 'dim', style.italic && 'italic', style.underline && 'underline'].filter(Boolean).join(' ');
}

/** The nearest of the 16 colours that a theme defines. */
function nearest(red: number, green: number, blue: number): number {
  const most = Math.max(red, green, blue);
  if (most < 48) return 0;
  const bright = most > 200;
  const on = (value: number) => (value > most * 0.6 ? 1 : 0);
  const colour = on(red) + 2 * on(green) + 4 * on(blue);
  return colour + (bright ? 8 : 0);
}

/** A colour of the 256. */
function indexed(n: number): number {
  if (n < 16) return n;
  if (n >= 232) return nearest(...([0, 1, 2].map(() => 8 + (n - 232) * 10) as [number, number, number]));
  const level = (part: number) => (part === 0 ? 0 : 55 + part * 40);
  const at = n - 16;
  return nearest(level(Math.floor(at / 36)), level(Math.floor(at / 6) % 6), level(at % 6));
}

function styled(before: Style, parameters: string): Style {
  const codes = parameters.split(/[;:]/).map((one) => Number(one) || 0);
  const style = { ...before };
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] ?? 0;
    if (code === 0) Object.assign(style, NORMAL);
    else if (code === 1) style.bold = true;
    else if (code === 2) style.dim = true;
    else if (code === 3) style.italic = true;
    else if (code === 4) style.underline = true;
    else if (code === 7) style.inverse = true;
    else if (code === 22) style.bold = style.dim = false;
    else if (code === 23) style.italic = false;
    else if (code === 24) style.underline = false;
    else if (code === 27) style.inverse = false;
    else if (code >= 30 && code <= 37) style.fg = code - 30;
    else if (code >= 90 && code <= 97) style.fg = code - 82;
    else if (code >= 40 && code <= 47) style.bg = code - 40;
    else if (code >= 100 && code <= 107) style.bg = code - 92;
    else if (code === 39) style.fg = null;
    else if (code === 49) style.bg = null;
    else if (code === 38 || code === 48) {
      const target = code === 38 ? 'fg' : 'bg';
      if (codes[at + 1] === 5) {
        style[target] = indexed(Math.min(255, codes[at + 2] ?? 0));
        at += 2;
      } else if (codes[at + 1] === 2) {
        style[target] = nearest(codes[at + 2] ?? 0, codes[at + 3] ?? 0, codes[at + 4] ?? 0);
        at += 4;
      }
    }
  }
  return style;
}

/** The output in pieces. A line that is written again and again, such as a progress bar, shows its last state. */
export function ansi(printed: string): AnsiSpan[] {
  const spans: AnsiSpan[] = [];
  let line: AnsiSpan[] = [];
  let style = NORMAL;
  let look = '';
  /** A carriage return came: what comes next on this line replaces it. */
  let rewind = false;
  const add = (text: string) => {
    if (!text) return;
    if (rewind) line = [];
    rewind = false;
    const last = line.at(-1);
    if (last?.look === look || (last && spans.length > MOST)) last.text += text;
    else line.push({ text, look });
  };
  const flush = (end: string) => {
    for (const one of line) {
      const last = spans.at(-1);
      if (last && (last.look === one.look || spans.length > MOST)) last.text += one.text;
      else spans.push(one);
    }
    const last = spans.at(-1);
    if (last) last.text += end;
    else if (end) spans.push({ text: end, look: '' });
    line = [];
    rewind = false;
  };
  let from = 0;
  for (let at = 0; at < printed.length; at += 1) {
    const here = printed[at];
    if (here !== '\n' && here !== '\r' && here !== ESC && here !== '\b') continue;
    add(printed.slice(from, at));
    from = at + 1;
    if (here === '\n') flush('\n');
    else if (here === '\r') rewind = true;
    else if (here === ESC) {
      SEQUENCE.lastIndex = at;
      const found = SEQUENCE.exec(printed);
      // What is no sequence stays, and is shown by name.
      if (!found) {
        from = at;
        continue;
      }
      if (found[2] === 'm') {
        style = styled(style, found[1] ?? '');
        look = lookOf(style);
      } else if (found[2] === 'K') rewind = false;
      from = at + found[0].length;
      at = from - 1;
    }
  }
  add(printed.slice(from));
  flush('');
  return spans;
}
