// Flowcharts and sequence diagrams in Mermaid's language, laid out as plain boxes and lines: a component draws them.
// What is not read here (other kinds, styles, groups) gives null, and is shown as its source.

export type DiagramBox = { x: number; y: number; width: number; height: number; lines: string[]; shape: 'box' | 'round' | 'diamond' | 'note' | 'actor' };
export type DiagramLine = { path: string; dashed: boolean; thick: boolean; arrow: boolean };
export type DiagramLabel = { x: number; y: number; text: string };
export type Drawing = { width: number; height: number; boxes: DiagramBox[]; lines: DiagramLine[]; labels: DiagramLabel[] };

const LONGEST = 20_000;
const MOST_NODES = 80;
const LETTER = 7.4;
const LINE = 19;
const WIDEST = 26;
const GAP = 44;
const BETWEEN = 26;
const EDGE = 10;

type Node = { id: string; text: string; shape: DiagramBox['shape'] };
type Link = { from: string; to: string; text: string; dashed: boolean; thick: boolean; arrow: boolean };

/** A label in lines of readable length. */
function wrapped(text: string): string[] {
  const lines: string[] = [];
  for (const part of text.replaceAll(/<br\s*\/?>/gi, '\n').split('\n')) {
    let line = '';
    for (const word of part.trim().split(/\s+/)) {
      if (line && line.length + word.length >= WIDEST) {
        lines.push(line);
        line = word;
      } else line = line ? `${line} ${word}` : word;
    }
    lines.push(line);
  }
  return lines.slice(0, 8).map((line) => (line.length > 48 ? `${line.slice(0, 47)}…` : line));
}
const unquoted = (text: string): string => text.trim().replace(/^"([\s\S]*)"$/, '$1').replace(/^`([\s\S]*)`$/, '$1');
const sizeOf = (lines: string[], shape: DiagramBox['shape']) => {
  const width = Math.max(46, Math.max(...lines.map((line) => line.length)) * LETTER + 26);
  const height = lines.length * LINE + 18;
  return shape === 'diamond' ? { width: width * 1.25 + 16, height: height * 1.5 + 8 } : { width, height };
};

const NODE = /^\s*([\p{L}\d_][\p{L}\d_.]*(?:-[\p{L}\d_]+)*)\s*(?:\[\[(.*?)\]\]|\(\((.*?)\)\)|\(\[(.*?)\]\)|\[\((.*?)\)\]|\{\{(.*?)\}\}|\[[/\\]?("[^"]*"|[^\]]*?)[/\\]?\]|\(("[^"]*"|[^)]*)\)|\{("[^"]*"|[^}]*)\}|>([^\]]*)\])?(?::::[\w-]+)?/u;
const NAMED = /^\s*(?:--\s+([^\s|>-][^|>]*?)\s+--+([>ox])?|==\s+([^\s=|>][^|>]*?)\s+==+(>)?|-\.\s+([^|>]*?)\s+\.+-(>)?)\s*/;
const PLAIN = /^\s*<?(--+|==+|-\.+-)([>ox])?\s*(?:\|([^|]*)\|)?\s*/;

function flowchart(lines: string[], direction: string): Drawing | null {
  const nodes = new Map<string, Node>();
  const links: Link[] = [];
  for (const line of lines) {
    if (/^(?:style|classDef|class|click|linkStyle|direction)\b/.test(line)) continue;
    if (/^(?:subgraph\b|end$)/.test(line)) return null;
    let rest = line.replace(/;$/, '');
    let before: string[] = [];
    let link: Omit<Link, 'from' | 'to'> | null = null;
    while (rest.trim()) {
      const group: string[] = [];
      for (;;) {
        const found = NODE.exec(rest);
        const id = found?.[1];
        if (!found || !id) return null;
        const at = found.slice(2).findIndex((text) => text !== undefined);
        const text = at < 0 ? undefined : unquoted(found[at + 2] ?? '');
        const shape = [1, 2, 6].includes(at) ? 'round' : at === 7 || at === 4 ? 'diamond' : 'box';
        const known = nodes.get(id);
        if (!known) nodes.set(id, { id, text: text ?? id, shape });
        else if (text !== undefined) Object.assign(known, { text, shape });
        group.push(id);
        rest = rest.slice(found[0].length);
        const and = /^\s*&\s*/.exec(rest);
        if (!and) break;
        rest = rest.slice(and[0].length);
      }
      if (link) for (const from of before) for (const to of group) links.push({ from, to, ...link });
      before = group;
      if (!rest.trim()) break;
      const named = NAMED.exec(rest);
      const plain = named ? null : PLAIN.exec(rest);
      const found = named ?? plain;
      if (!found) return null;
      if (named) link = { text: unquoted(named[1] ?? named[3] ?? named[5] ?? ''), dashed: named[5] !== undefined, thick: named[3] !== undefined, arrow: Boolean(named[2] ?? named[4] ?? named[6]) };
      else link = { text: unquoted(plain?.[3] ?? ''), dashed: plain?.[1]?.includes('.') ?? false, thick: plain?.[1]?.startsWith('=') ?? false, arrow: plain?.[2] !== undefined };
      rest = rest.slice(found[0].length);
    }
    if (nodes.size > MOST_NODES) return null;
  }
  return nodes.size ? placed([...nodes.values()], links, direction) : null;
}

/** How far from the beginning each node stands; links that lead back do not count. */
function ranks(nodes: Node[], links: Link[]): Map<string, number> {
  const out = new Map<string, string[]>(nodes.map(({ id }) => [id, links.filter((one) => one.from === id && one.to !== id).map((one) => one.to)]));
  const back = new Set<string>();
  const state = new Map<string, 'open' | 'done'>();
  const order: string[] = [];
  const visit = (id: string) => {
    state.set(id, 'open');
    for (const to of out.get(id) ?? []) {
      if (state.get(to) === 'open') back.add(`${id}\n${to}`);
      else if (!state.has(to)) visit(to);
    }
    state.set(id, 'done');
    order.unshift(id);
  };
  for (const { id } of nodes) if (!state.has(id)) visit(id);
  const rank = new Map<string, number>(nodes.map(({ id }) => [id, 0]));
  for (const id of order) for (const to of out.get(id) ?? []) if (!back.has(`${id}\n${to}`)) rank.set(to, Math.max(rank.get(to) ?? 0, (rank.get(id) ?? 0) + 1));
  return rank;
}

function placed(nodes: Node[], links: Link[], direction: string): Drawing {
  const across = direction === 'LR' || direction === 'RL';
  const rank = ranks(nodes, links);
  const rows: Node[][] = [];
  for (const node of nodes) (rows[rank.get(node.id) ?? 0] ??= []).push(node);
  if (direction === 'BT' || direction === 'RL') rows.reverse();
  // Each row in the order of what leads to it.
  const place = new Map<string, number>();
  for (const row of rows) {
    const wish = (node: Node) => {
      const from = links.filter((one) => one.to === node.id && place.has(one.from)).map((one) => place.get(one.from) ?? 0);
      return from.length ? from.reduce((sum, one) => sum + one, 0) / from.length : row.indexOf(node);
    };
    row.sort((one, other) => wish(one) - wish(other)).forEach((node, at) => place.set(node.id, at));
  }
  const box = new Map<string, DiagramBox>(nodes.map((node) => {
    const lines = wrapped(node.text);
    return [node.id, { x: 0, y: 0, ...sizeOf(lines, node.shape), lines, shape: node.shape }];
  }));
  const of = (node: Node) => box.get(node.id) as DiagramBox;
  const along = (one: DiagramBox) => (across ? one.height : one.width);
  const deep = (one: DiagramBox) => (across ? one.width : one.height);
  const lengths = rows.map((row) => row.reduce((sum, node) => sum + along(of(node)) + BETWEEN, -BETWEEN));
  const longest = Math.max(...lengths);
  // A label needs room between two rows.
  const gap = GAP + (across ? Math.max(0, ...links.map((one) => one.text.length)) * LETTER : links.some((one) => one.text) ? 14 : 0);
  let depth = EDGE;
  rows.forEach((row, at) => {
    let from = EDGE + (longest - (lengths[at] ?? 0)) / 2;
    const most = Math.max(...row.map((node) => deep(of(node))));
    for (const node of row) {
      const one = of(node);
      const shift = depth + (most - deep(one)) / 2;
      Object.assign(one, across ? { x: shift, y: from } : { x: from, y: shift });
      from += along(one) + BETWEEN;
    }
    depth += most + gap;
  });
  const lines: DiagramLine[] = [];
  const labels: DiagramLabel[] = [];
  for (const { from, to, text, ...look } of links) {
    const [a, b] = [box.get(from), box.get(to)];
    if (!a || !b) continue;
    const [start, end, bend] = ends(a, b, across);
    const path = across ? `M${start.x} ${start.y}C${start.x + bend} ${start.y} ${end.x - bend} ${end.y} ${end.x} ${end.y}` : `M${start.x} ${start.y}C${start.x} ${start.y + bend} ${end.x} ${end.y - bend} ${end.x} ${end.y}`;
    lines.push({ path, ...look });
    if (text) labels.push({ x: (start.x + end.x) / 2, y: (start.y + end.y) / 2, text: text.slice(0, 60) });
  }
  const all = [...box.values()];
  return { width: Math.max(...all.map((one) => one.x + one.width)) + EDGE + 30, height: Math.max(...all.map((one) => one.y + one.height)) + EDGE + 10, boxes: all, lines, labels };
}

type Point = { x: number; y: number };
/** Where a link leaves one box and reaches the other, and how far it bends. */
function ends(a: DiagramBox, b: DiagramBox, across: boolean): [Point, Point, number] {
  const middle = (one: DiagramBox): Point => ({ x: one.x + one.width / 2, y: one.y + one.height / 2 });
  const [from, to] = [middle(a), middle(b)];
  const forward = across ? b.x >= a.x + a.width : b.y >= a.y + a.height;
  const backward = across ? b.x + b.width <= a.x : b.y + b.height <= a.y;
  const sign = forward ? 1 : backward ? -1 : 0;
  if (sign === 0) {
    // Side by side, or one box with itself: around the far side.
    return across ? [{ x: a.x + a.width, y: from.y }, { x: b.x + b.width, y: to.y + (a === b ? 8 : 0) }, 30] : [{ x: a.x + a.width, y: from.y }, { x: a === b ? a.x + a.width : b.x + (b.x > a.x ? 0 : b.width), y: to.y + (a === b ? 8 : 0) }, a === b ? 26 : 0];
  }
  const shift = sign < 0 ? 14 : 0;
  if (across) return [{ x: sign > 0 ? a.x + a.width : a.x, y: from.y + shift }, { x: sign > 0 ? b.x : b.x + b.width, y: to.y + shift }, (sign * GAP) / 1.5];
  return [{ x: from.x + shift, y: sign > 0 ? a.y + a.height : a.y }, { x: to.x + shift, y: sign > 0 ? b.y : b.y + b.height }, (sign * GAP) / 1.5];
}

const MESSAGE = /^(.+?)\s*(<<-->>|<<->>|--?>>|--?>|--?x|--?\))\s*[+-]?\s*([^:]+?)\s*:\s*(.*)$/;

function sequence(lines: string[]): Drawing | null {
  const actors = new Map<string, string>();
  const meet = (id: string) => actors.has(id) || actors.set(id, id);
  type Row = { kind: 'message'; from: string; to: string; text: string; dashed: boolean } | { kind: 'note'; over: string[]; text: string } | { kind: 'part'; text: string };
  const rows: Row[] = [];
  for (const line of lines) {
    const named = /^(?:participant|actor)\s+(\S+)(?:\s+as\s+(.+))?$/.exec(line);
    const note = /^note\s+(?:over|left of|right of)\s+([^:]+):\s*(.*)$/i.exec(line);
    const part = /^(loop|alt|else|opt|par|and|critical|break|rect)\b\s*(.*)$/.exec(line);
    const message = MESSAGE.exec(line);
    if (named?.[1]) actors.set(named[1], unquoted(named[2] ?? named[1]));
    else if (note) rows.push({ kind: 'note', over: (note[1] ?? '').split(',').map((one) => one.trim()), text: note[2] ?? '' });
    else if (part) rows.push({ kind: 'part', text: `${part[1]} ${part[1] === 'rect' ? '' : (part[2] ?? '')}`.trim() });
    else if (/^(?:end|autonumber|activate\b|deactivate\b|title\b)/.test(line)) continue;
    else if (message?.[1] && message[3]) {
      meet(message[1]);
      meet(message[3]);
      rows.push({ kind: 'message', from: message[1], to: message[3], text: message[4] ?? '', dashed: message[2]?.startsWith('--') ?? false });
    } else return null;
  }
  if (!actors.size || actors.size > 12 || rows.length > 120) return null;
  const ids = [...actors.keys()];
  const heads = ids.map((id) => wrapped(actors.get(id) ?? id));
  const longest = Math.max(0, ...rows.map((row) => (row.kind === 'message' && row.from !== row.to ? (row.text.length * LETTER) / Math.max(1, Math.abs(ids.indexOf(row.from) - ids.indexOf(row.to))) : 0)));
  const step = Math.max(120, Math.min(320, longest + 24), ...heads.map((lines) => sizeOf(lines, 'actor').width + 20));
  const x = (id: string) => EDGE + step / 2 + ids.indexOf(id) * step;
  const high = Math.max(...heads.map((lines) => lines.length)) * LINE + 18;
  const boxes: DiagramBox[] = ids.map((id, at) => {
    const width = sizeOf(heads[at] ?? [], 'actor').width;
    return { x: x(id) - width / 2, y: EDGE, width, height: high, lines: heads[at] ?? [], shape: 'actor' };
  });
  const lines2: DiagramLine[] = [];
  const labels: DiagramLabel[] = [];
  let y = EDGE + high + 34;
  for (const row of rows) {
    if (row.kind === 'message') {
      const [from, to] = [x(row.from), x(row.to)];
      const self = row.from === row.to;
      lines2.push({ path: self ? `M${from} ${y}h34v18h-34` : `M${from} ${y}H${to}`, dashed: row.dashed, thick: false, arrow: true });
      if (row.text) labels.push({ x: self ? from + 44 + (row.text.length * LETTER) / 2 : (from + to) / 2, y: y - 9, text: row.text.slice(0, 80) });
      y += self ? 56 : 42;
    } else if (row.kind === 'note') {
      const over = row.over.filter((id) => actors.has(id));
      const text = wrapped(row.text);
      const { width, height } = sizeOf(text, 'note');
      const middle = over.length ? (x(over[0] ?? '') + x(over.at(-1) ?? '')) / 2 : EDGE + step / 2;
      boxes.push({ x: Math.max(EDGE, middle - width / 2), y: y - 16, width, height, lines: text, shape: 'note' });
      y += height + 18;
    } else {
      lines2.push({ path: `M${EDGE} ${y - 8}H${EDGE + ids.length * step}`, dashed: true, thick: false, arrow: false });
      labels.push({ x: EDGE + (row.text.length * LETTER) / 2 + 8, y: y + 6, text: row.text.slice(0, 80) });
      y += 38;
    }
  }
  const lives: DiagramLine[] = ids.map((id) => ({ path: `M${x(id)} ${EDGE + high}V${y - 14}`, dashed: true, thick: false, arrow: false }));
  return { width: EDGE * 2 + ids.length * step + 40, height: y, boxes, lines: [...lives, ...lines2], labels };
}

/** The diagram as it is drawn, or null where it is shown as its source. */
export function diagram(source: string): Drawing | null {
  if (source.length > LONGEST) return null;
  const lines = source
    .split('\n')
    .map((line) => line.replace(/%%.*$/, '').trim())
    .filter(Boolean);
  const head = lines.shift() ?? '';
  const flow = /^(?:graph|flowchart)(?:\s+(TD|TB|LR|RL|BT))?\s*;?$/.exec(head);
  if (flow) return flowchart(lines.flatMap((line) => line.split(/;(?=\s*\w)/)).map((line) => line.trim()), flow[1] ?? 'TD');
  return head === 'sequenceDiagram' ? sequence(lines) : null;
}
