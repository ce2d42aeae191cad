// The part of ICU's message syntax that our texts use: values and plurals.

export type Part = string | { value: string } | { plural: string; cases: Record<string, Part[]> } | { count: string };

const parsed = new Map<string, Part[]>();

/** Reads a message. An unbalanced brace is an error: the tests read every message. */
export function parse(message: string): Part[] {
  const known = parsed.get(message);
  if (known) return known;
  const reader = { text: message, at: 0 };
  const parts = sequence(reader, null);
  if (reader.at < message.length) throw new Error(`unexpected } in the message: ${message}`);
  parsed.set(message, parts);
  return parts;
}

type Reader = { text: string; at: number };

function sequence(reader: Reader, plural: string | null): Part[] {
  const parts: Part[] = [];
  let text = '';
  const flush = () => {
    if (text) parts.push(text);
    text = '';
  };
  while (reader.at < reader.text.length && reader.text[reader.at] !== '}') {
    const letter = reader.text[reader.at];
    if (letter === '{') {
      flush();
      reader.at += 1;
      parts.push(placeholder(reader));
    } else if (letter === '#' && plural) {
      flush();
      reader.at += 1;
      parts.push({ count: plural });
    } else {
      text += letter;
      reader.at += 1;
    }
  }
  flush();
  return parts;
}

function placeholder(reader: Reader): Part {
  const name = match(reader, /\s*(\w+)\s*/y);
  if (reader.text[reader.at] === '}') {
    reader.at += 1;
    return { value: name };
  }
  match(reader, /,\s*(plural)\s*,\s*/y);
  const cases: Record<string, Part[]> = {};
  while (reader.text[reader.at] !== '}') {
    const chosen = match(reader, /(=?\w+)\s*\{/y);
    cases[chosen] = sequence(reader, name);
    match(reader, /(\})\s*/y);
  }
  reader.at += 1;
  if (!cases.other) throw new Error(`a plural without "other" in the message: ${reader.text}`);
  return { plural: name, cases };
}

function match(reader: Reader, pattern: RegExp): string {
  pattern.lastIndex = reader.at;
  const found = pattern.exec(reader.text);
  if (!found?.[1]) throw new Error(`cannot read the message at ${reader.at}: ${reader.text}`);
  reader.at = pattern.lastIndex;
  return found[1];
}

const rules = new Map<string, { plural: Intl.PluralRules; number: Intl.NumberFormat }>();
function rulesOf(language: string) {
  const known = rules.get(language) ?? { plural: new Intl.PluralRules(language), number: new Intl.NumberFormat(language) };
  rules.set(language, known);
  return known;
}

/** The parts that these values choose: texts, and the names of placeholders that have no value. */
export function resolve(parts: Part[], values: Record<string, string | number>, language: string): (string | { value: string })[] {
  const { plural, number } = rulesOf(language);
  return parts.flatMap((part) => {
    if (typeof part === 'string') return [part];
    if ('value' in part) {
      const value = values[part.value];
      return [value === undefined ? part : typeof value === 'number' ? number.format(value) : value];
    }
    if ('count' in part) return [number.format(Number(values[part.count] ?? 0))];
    const n = Number(values[part.plural] ?? 0);
    const chosen = part.cases[`=${n}`] ?? part.cases[plural.select(n)] ?? part.cases.other ?? [];
    return resolve(chosen, values, language);
  });
}

export function format(message: string, values: Record<string, string | number> | undefined, language: string): string {
  if (!message.includes('{')) return message;
  return resolve(parse(message), values ?? {}, language)
    .map((part) => (typeof part === 'string' ? part : `{${part.value}}`))
    .join('');
}
