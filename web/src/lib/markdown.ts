// Markdown as a tree of plain data, which components turn into elements. HTML is text like any other,
// links lead to the web or to mail, and pictures become links: a reply must not make the page
// ask another machine for anything.

export type Inline =
  | { kind: 'text' | 'code' | 'math'; text: string }
  | { kind: 'strong' | 'em' | 'del'; inner: Inline[] }
  | { kind: 'link'; href: string; inner: Inline[] }
  | { kind: 'break' };

export type Align = 'left' | 'center' | 'right' | null;

export type Block =
  | { kind: 'heading'; level: number; inner: Inline[] }
  | { kind: 'paragraph'; inner: Inline[] }
  | { kind: 'code'; language: string; text: string }
  | { kind: 'math'; text: string }
  | { kind: 'quote'; inner: Block[] }
  | { kind: 'list'; ordered: boolean; start: number; items: { checked: boolean | null; inner: Block[] }[] }
  | { kind: 'table'; align: Align[]; head: Inline[][]; rows: Inline[][][] }
  | { kind: 'rule' };

/** What is longer is shown as the text it is from there on. */
const LONGEST = 200_000;
const DEEPEST = 8;
const MOST_COLUMNS = 64;

/** Reads Markdown. It never fails: what is no markup is text. */
export function markdown(text: string): Block[] {
  const head = text.slice(0, LONGEST).replaceAll('\r\n', '\n');
  const read = blocks(head.split('\n'), 0);
  if (text.length > LONGEST) read.push({ kind: 'code', language: '', text: text.slice(LONGEST) });
  return read;
}

/** How deep each heading stands below a heading of the page: never more than one step below the one before it. */
export function outline(read: Block[], under: number): Map<Block, number> {
  const levels = new Map<Block, number>();
  let before = under;
  let written = 0;
  const walk = (all: Block[]) => {
    for (const block of all) {
      if (block.kind === 'heading') {
        const deeper = block.level > written;
        const level = deeper ? before + 1 : before - (written - block.level);
        before = Math.max(under + 1, Math.min(6, level));
        written = block.level;
        levels.set(block, before);
      } else if (block.kind === 'quote') walk(block.inner);
      else if (block.kind === 'list') for (const item of block.items) walk(item.inner);
    }
  };
  walk(read);
  return levels;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^`\s]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/;
const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const QUOTE = /^ {0,3}> ?(.*)$/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(?:[ \t]+(.*)|)$/;
const DIVIDER = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;
const TASK = /^\[([ xX])\][ \t]+/;

function blocks(lines: string[], depth: number): Block[] {
  const found: Block[] = [];
  let words: string[] = [];
  const paragraph = () => {
    if (words.length) found.push({ kind: 'paragraph', inner: inline(words.join('\n')) });
    words = [];
  };
  let at = 0;
  while (at < lines.length) {
    const line = lines[at] ?? '';
    if (!line.trim()) {
      paragraph();
      at += 1;
      continue;
    }
    const fence = FENCE.exec(line);
    if (fence) {
      paragraph();
      const mark = fence[1] ?? '```';
      const end = closing(lines, at + 1, mark);
      const text = lines.slice(at + 1, end).join('\n');
      found.push(fence[2] === 'math' ? { kind: 'math', text } : { kind: 'code', language: fence[2] ?? '', text });
      at = end + 1;
      continue;
    }
    const formula = words.length ? null : formulaAt(lines, at);
    if (formula) {
      found.push({ kind: 'math', text: formula.text });
      at = formula.end;
      continue;
    }
    const heading = HEADING.exec(line);
    if (heading) {
      paragraph();
      found.push({ kind: 'heading', level: heading[1]?.length ?? 1, inner: inline(heading[2] ?? '') });
      at += 1;
      continue;
    }
    if (RULE.test(line)) {
      paragraph();
      found.push({ kind: 'rule' });
      at += 1;
      continue;
    }
    if (depth < DEEPEST && QUOTE.test(line)) {
      paragraph();
      const inner: string[] = [];
      let match;
      while (at < lines.length && (match = QUOTE.exec(lines[at] ?? ''))) {
        inner.push(match[1] ?? '');
        at += 1;
      }
      found.push({ kind: 'quote', inner: blocks(inner, depth + 1) });
      continue;
    }
    const item = depth < DEEPEST ? ITEM.exec(line) : null;
    // A number in the middle of a paragraph is no list unless it is the first.
    if (item && (!words.length || !/^\d/.test(item[2] ?? '') || /^1[.)]/.test(item[2] ?? ''))) {
      paragraph();
      at = list(lines, at, depth, found);
      continue;
    }
    if (!words.length && line.includes('|') && DIVIDER.test(lines[at + 1] ?? '')) {
      const end = table(lines, at, found);
      if (end > at) {
        at = end;
        continue;
      }
    }
    words.push(line.trimStart());
    at += 1;
  }
  paragraph();
  return found;
}

/** A formula of its own, between `$$` or `\\[` and `\\]`, that ends within so many lines. */
function formulaAt(lines: string[], from: number): { text: string; end: number } | null {
  const first = (lines[from] ?? '').trim();
  const close = first.startsWith('$$') ? '$$' : first.startsWith('\\[') ? '\\]' : '';
  if (!close) return null;
  for (let at = from; at < Math.min(lines.length, from + 60); at += 1) {
    const line = (at === from ? first.slice(2) : (lines[at] ?? '')).trimEnd();
    if (!line.endsWith(close)) {
      if (!line.trim() && at > from) return null;
      continue;
    }
    const inner = [...(at === from ? [] : [first.slice(2), ...lines.slice(from + 1, at)]), line.slice(0, -2)];
    const text = inner.join('\n').trim();
    return text ? { text, end: at + 1 } : null;
  }
  return null;
}

/** The line that ends a fence, or the end. */
function closing(lines: string[], from: number, mark: string): number {
  for (let at = from; at < lines.length; at++) {
    const line = (lines[at] ?? '').trim();
    if (line.length >= mark.length && line === mark.charAt(0).repeat(line.length)) return at;
  }
  return lines.length;
}

function list(lines: string[], from: number, depth: number, found: Block[]): number {
  const first = ITEM.exec(lines[from] ?? '');
  const kind = first?.[2]?.slice(-1) ?? '-';
  const ordered = /[.)]/.test(kind);
  const items: { checked: boolean | null; inner: Block[] }[] = [];
  let at = from;
  while (at < lines.length) {
    const match = ITEM.exec(lines[at] ?? '');
    if (!match || match[2]?.slice(-1) !== kind || RULE.test(lines[at] ?? '')) break;
    const indent = (match[1]?.length ?? 0) + (match[2]?.length ?? 1) + 1;
    let text = match[3] ?? '';
    const task = TASK.exec(text);
    if (task) text = text.slice(task[0].length);
    const inner = [text];
    at += 1;
    while (at < lines.length) {
      const line = lines[at] ?? '';
      const deep = line.length - line.trimStart().length;
      if (!line.trim()) {
        // A blank line belongs to the item if what follows does.
        const next = lines[at + 1] ?? '';
        if (!next.trim() || next.length - next.trimStart().length < Math.min(indent, 2)) break;
        inner.push('');
      } else if (deep >= Math.min(indent, 2)) {
        inner.push(line.slice(Math.min(deep, indent)));
      } else if (ITEM.test(line) || starts(line) || !(inner.at(-1) ?? '').trim()) {
        break;
      } else {
        inner.push(line); // a paragraph that goes on without its indent
      }
      at += 1;
    }
    items.push({ checked: task ? task[1] !== ' ' : null, inner: blocks(inner, depth + 1) });
    // Blank lines between items.
    let next = at;
    while (next < lines.length && !(lines[next] ?? '').trim()) next += 1;
    if (next > at && ITEM.exec(lines[next] ?? '')?.[2]?.slice(-1) === kind) at = next;
  }
  found.push({ kind: 'list', ordered, start: ordered ? parseInt(first?.[2] ?? '1', 10) : 1, items });
  return at;
}

/** Whether a line begins something other than a paragraph. */
function starts(line: string): boolean {
  return FENCE.test(line) || HEADING.test(line) || QUOTE.test(line) || RULE.test(line);
}

function cells(line: string): string[] {
  const bare = line.trim().replace(/^\|/, '').replace(/(?<!\\)\|$/, '');
  return bare.split(/(?<!\\)\|/, MOST_COLUMNS).map((cell) => cell.trim().replaceAll('\\|', '|'));
}

function table(lines: string[], from: number, found: Block[]): number {
  const head = cells(lines[from] ?? '');
  const align = cells(lines[from + 1] ?? '').map((cell): Align => {
    const [left, right] = [cell.startsWith(':'), cell.endsWith(':')];
    return left && right ? 'center' : right ? 'right' : left ? 'left' : null;
  });
  if (head.length !== align.length) return from;
  let at = from + 2;
  const rows: Inline[][][] = [];
  while (at < lines.length && (lines[at] ?? '').trim() && (lines[at] ?? '').includes('|')) {
    const row = cells(lines[at] ?? '');
    rows.push(head.map((_, column) => inline(row[column] ?? '')));
    at += 1;
  }
  found.push({ kind: 'table', align, head: head.map((cell) => inline(cell)), rows });
  return at;
}

const PUNCTUATION = /[!-/:-@[-`{-~]/;
const ADDRESS = /https?:\/\/[^\s<>"'`\u0000-\u001f]+/y;

/** Reads the words of one paragraph. */
export function inline(text: string, depth = 0): Inline[] {
  const found: Inline[] = [];
  let plain = '';
  const flush = () => {
    if (plain) found.push({ kind: 'text', text: plain });
    plain = '';
  };
  const put = (one: Inline) => {
    flush();
    found.push(one);
  };
  // A mark whose end was looked for in vain has none further on either.
  const vain = new Set<string>();
  const seek = (mark: string, from: number): number => {
    if (vain.has(mark)) return -1;
    const end = text.indexOf(mark, from);
    if (end === -1) vain.add(mark);
    return end;
  };
  let at = 0;
  while (at < text.length) {
    const here = text.charAt(at);
    const formula = here === '$' || here === '\\' ? math(text, at, seek) : null;
    if (formula) {
      put(formula.one);
      at = formula.end;
      continue;
    }
    if (here === '\\' && PUNCTUATION.test(text.charAt(at + 1))) {
      plain += text.charAt(at + 1);
      at += 2;
      continue;
    }
    if (here === '\n') {
      const hard = plain.endsWith('  ') || plain.endsWith('\\');
      plain = plain.replace(/[ \\]+$/, '');
      if (hard) put({ kind: 'break' });
      else plain += '\n';
      at += 1;
      continue;
    }
    if (here === '`') {
      const mark = /^`+/.exec(text.slice(at, at + 32))?.[0] ?? '`';
      const end = seek(mark, at + mark.length);
      if (end !== -1) {
        put({ kind: 'code', text: text.slice(at + mark.length, end).replace(/^ (.+) $/s, '$1') });
        at = end + mark.length;
      } else {
        plain += mark;
        at += mark.length;
      }
      continue;
    }
    const emphasised = depth < DEEPEST ? emphasis(text, at, seek, depth) : null;
    if (emphasised) {
      put(emphasised.one);
      at = emphasised.end;
      continue;
    }
    if (here === '[' || (here === '!' && text.charAt(at + 1) === '[')) {
      const linked = depth < DEEPEST ? link(text, at, seek, depth) : null;
      if (linked) {
        put(linked.one);
        at = linked.end;
        continue;
      }
    }
    if (here === 'h' || here === '<') {
      const begin = here === '<' ? at + 1 : at;
      ADDRESS.lastIndex = begin;
      const bare = ADDRESS.exec(text)?.[0].replace(/[.,;:!?)\]*_~]+$/, '');
      if (bare && !/\w/.test(text.charAt(at - 1))) {
        put({ kind: 'link', href: bare, inner: [{ kind: 'text', text: bare }] });
        at = begin + bare.length + (here === '<' && text.charAt(begin + bare.length) === '>' ? 1 : 0);
        continue;
      }
    }
    plain += here;
    at += 1;
  }
  flush();
  return found;
}

type Seek = (mark: string, from: number) => number;
type Found = { one: Inline; end: number } | null;

const MARKS: [string, 'strong' | 'em' | 'del'][] = [
  ['**', 'strong'],
  ['__', 'strong'],
  ['~~', 'del'],
  ['*', 'em'],
  ['_', 'em'],
];

/** A formula between `\\(` and `\\)`, `$$` or `$`. Amounts such as `$5 and $10` are words. */
function math(text: string, at: number, seek: Seek): Found {
  const [open, close] = text.startsWith('\\(', at) ? ['\\(', '\\)'] : text.startsWith('\\[', at) ? ['\\[', '\\]'] : text.startsWith('$$', at) ? ['$$', '$$'] : text.startsWith('$', at) ? ['$', '$'] : ['', ''];
  if (!open || !close) return null;
  const inside = at + open.length;
  const end = seek(close, inside + 1);
  if (end === -1 || end - inside > 1_000) return null;
  const inner = text.slice(inside, end);
  if (inner.includes('\n\n')) return null;
  if (open === '$' && (/^\s|\s$|\\$/.test(inner) || /[\w$]/.test(text.charAt(end + 1)) || /[\w$]/.test(text.charAt(at - 1)))) return null;
  return { one: { kind: 'math', text: inner.trim() }, end: end + close.length };
}

function emphasis(text: string, at: number, seek: Seek, depth: number): Found {
  for (const [mark, kind] of MARKS) {
    if (!text.startsWith(mark, at)) continue;
    const inside = at + mark.length;
    // `snake_case` and `2 * 3` are words.
    if (/\s|^$/.test(text.charAt(inside))) return null;
    if (mark.startsWith('_') && /\w/.test(text.charAt(at - 1))) return null;
    let end = seek(mark, inside + 1);
    for (let tries = 0; end !== -1 && tries < 16; tries++) {
      const open = /\s/.test(text.charAt(end - 1)) || (mark.startsWith('_') && /\w/.test(text.charAt(end + mark.length)));
      const longer = mark.length === 1 && text.charAt(end + 1) === mark && text.charAt(end - 1) !== mark;
      if (!open && !longer) return { one: { kind, inner: inline(text.slice(inside, end), depth + 1) }, end: end + mark.length };
      end = seek(mark, end + (longer ? 2 : 1));
    }
    return null;
  }
  return null;
}

function link(text: string, at: number, seek: Seek, depth: number): Found {
  const picture = text.charAt(at) === '!';
  const inside = at + (picture ? 2 : 1);
  const middle = seek('](', inside);
  if (middle === -1 || middle - inside > 1_000 || text.slice(inside, middle).includes('\n\n')) return null;
  let end = seek(')', middle + 2);
  // One pair of brackets may stand inside an address.
  if (end !== -1 && text.slice(middle + 2, end).includes('(')) end = Math.max(end, seek(')', end + 1));
  if (end === -1 || end - middle > 2_000) return null;
  const target = /^<?([^\s<>]*)>?(?:\s+["'(].*)?$/s.exec(text.slice(middle + 2, end).trim())?.[1] ?? '';
  const words = text.slice(inside, middle);
  const href = address(target);
  const inner = inline(words || target, depth + 1);
  // Where it would lead is shown when it leads nowhere that is safe.
  if (!href) return { one: { kind: 'em', inner: [...inner, { kind: 'text', text: ` (${target})` }] }, end: end + 1 };
  return { one: { kind: 'link', href, inner }, end: end + 1 };
}

/** An address that may be followed, or null. */
export function address(text: string): string | null {
  if (/[\u0000-\u0020\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f]/.test(text)) return null;
  if (!/^(?:https?:\/\/[^/]|mailto:[^\s])/i.test(text)) return null;
  try {
    const url = new URL(text);
    return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}
