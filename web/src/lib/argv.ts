// A command line as the words a program gets, and back.

/** Splits as a POSIX shell does, without expanding anything. Null if a quote is not closed. */
export function words(line: string): string[] | null {
  const found: string[] = [];
  let word: string | null = null;
  let quote = '';
  for (let at = 0; at < line.length; at += 1) {
    const letter = line[at] ?? '';
    if (quote) {
      if (letter === quote) quote = '';
      else if (letter === '\\' && quote === '"' && /["\\$`]/.test(line[at + 1] ?? '')) word += line[(at += 1)] ?? '';
      else word += letter;
    } else if (letter === '"' || letter === "'") {
      quote = letter;
      word ??= '';
    } else if (letter === '\\' && at + 1 < line.length) {
      word = (word ?? '') + (line[(at += 1)] ?? '');
    } else if (/\s/.test(letter)) {
      if (word !== null) found.push(word);
      word = null;
    } else word = (word ?? '') + letter;
  }
  if (quote) return null;
  if (word !== null) found.push(word);
  return found;
}

/** `NAME=value` on each line. Empty lines and comments are skipped; null if a line is something else. */
export function variables(text: string): Record<string, string> | null {
  const all: Record<string, string> = {};
  for (const line of text.split('\n').map((one) => one.trim())) {
    if (!line || line.startsWith('#')) continue;
    const [, name, value] = /^(?:export\s+)?([A-Za-z_]\w*)=(.*)$/.exec(line) ?? [];
    if (!name) return null;
    all[name] = words(value ?? '')?.join(' ') ?? value ?? '';
  }
  return all;
}
