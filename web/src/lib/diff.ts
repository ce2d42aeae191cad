// Which lines of a text came and went, as programmers write it.

/** The most comparisons; texts that differ in more than that are shown whole, the old one before the new one. */
const WORK = 4_000_000;

type Line = { sign: ' ' | '-' | '+'; text: string };

/** The lines of `to` that came and those of `from` that went, each change with some lines around it; empty where nothing changed. */
export function difference(from: string, to: string, around = 3): string {
  const [old, now] = [from.split('\n'), to.split('\n')];
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < old.length - head && tail < now.length - head && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail += 1;
  const same = (text: string): Line => ({ sign: ' ', text });
  const lines = [...old.slice(0, head).map(same), ...changes(old.slice(head, old.length - tail), now.slice(head, now.length - tail)), ...old.slice(old.length - tail).map(same)];
  return shortened(lines, around);
}

/** The longest lines that two lists share, in order, and what stands between them. */
function changes(old: string[], now: string[]): Line[] {
  const width = now.length + 1;
  if (old.length * now.length > WORK) return [...old.map((text): Line => ({ sign: '-', text })), ...now.map((text): Line => ({ sign: '+', text }))];
  const longest = new Uint32Array((old.length + 1) * width);
  const at = (row: number, column: number) => longest[row * width + column] ?? 0;
  for (let row = old.length - 1; row >= 0; row -= 1) {
    for (let column = now.length - 1; column >= 0; column -= 1) {
      longest[row * width + column] = old[row] === now[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const lines: Line[] = [];
  let [row, column] = [0, 0];
  while (row < old.length || column < now.length) {
    const [was, is] = [old[row], now[column]];
    if (was !== undefined && was === is) {
      lines.push({ sign: ' ', text: was });
      row += 1;
      column += 1;
    } else if (was !== undefined && (is === undefined || at(row + 1, column) >= at(row, column + 1))) {
      lines.push({ sign: '-', text: was });
      row += 1;
    } else {
      lines.push({ sign: '+', text: is ?? '' });
      column += 1;
    }
  }
  return lines;
}

/** What is far from any change is left out, and said to be. */
function shortened(lines: Line[], around: number): string {
  const near = new Uint8Array(lines.length);
  lines.forEach((line, at) => {
    if (line.sign !== ' ') near.fill(1, Math.max(0, at - around), at + around + 1);
  });
  const shown: string[] = [];
  let skipped = 0;
  const tell = () => {
    if (skipped) shown.push(`@@ ${skipped} ${skipped === 1 ? 'line' : 'lines'} the same @@`);
    skipped = 0;
  };
  lines.forEach((line, at) => {
    if (!near[at]) return (skipped += 1);
    tell();
    return shown.push(line.sign + line.text);
  });
  if (!shown.length) return '';
  tell();
  return shown.join('\n');
}
