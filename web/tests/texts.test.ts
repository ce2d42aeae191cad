// The catalogue of texts: complete, consistent in all languages, and used for everything a person reads.
import { parse as parseComponent } from 'svelte/compiler';
import { expect, test } from 'vitest';
import { preferred } from '../src/lib/i18n';
import { format, parse, type Part } from '../src/lib/message';
import de from '../src/texts/de';
import en from '../src/texts/en';
import ja from '../src/texts/ja';

type Flat = Map<string, string>;
const flat = (texts: object): Flat => new Map(Object.entries(texts as Record<string, Record<string, string>>).flatMap(([area, messages]) => Object.entries(messages).map(([name, text]): [string, string] => [`${area}.${name}`, text])));
const english = flat(en);
const raw = import.meta.glob<string>(['../src/**/*.svelte', '../src/**/*.ts', '!../src/generated/**', '!../src/texts/**'], { query: '?raw', import: 'default', eager: true });
const source = new Map(Object.entries(raw).map(([path, text]) => [path.replace('../src/', ''), text]));

/** The names that a message needs values for. */
function placeholders(parts: Part[]): string[] {
  const names = parts.flatMap((part) => (typeof part === 'string' || 'count' in part ? [] : 'value' in part ? [part.value] : [part.plural, ...Object.values(part.cases).flatMap(placeholders)]));
  return [...new Set(names)].sort();
}

test.each([['de', de], ['ja', ja]])('%s has the keys and placeholders of English', (_name, texts) => {
  const other = flat(texts);
  expect([...other.keys()].sort()).toEqual([...english.keys()].sort());
  for (const [key, text] of other) expect({ key, names: placeholders(parse(text)) }).toEqual({ key, names: placeholders(parse(english.get(key) ?? '')) });
});

test('values and plurals are inserted as each language wants it', () => {
  const message = '{n, plural, =0 {nothing} one {# match in {where}} other {# matches in {where}}}';
  expect(format(message, { n: 0, where: 'x' }, 'en')).toBe('nothing');
  expect(format(message, { n: 1, where: 'x' }, 'en')).toBe('1 match in x');
  expect(format(message, { n: 12_000, where: '{n}' }, 'en')).toBe('12,000 matches in {n}');
  expect(format(message, { n: 12_000, where: 'x' }, 'de')).toBe('12.000 matches in x');
  expect(() => parse('{n, plural, one {x}}')).toThrow('other');
  expect(() => parse('open { brace')).toThrow('cannot read');
});

test('the first known language of the browser is used', () => {
  expect(preferred(['pt-BR', 'de-AT', 'en'])).toBe('de');
  expect(preferred(['ja'])).toBe('ja');
  expect(preferred(['pt-BR'])).toBe('en');
  expect(preferred([])).toBe('en');
});

test('every text is used', () => {
  const all = [...source.values()].join('\n');
  // A key may be composed, as in t(`jobs.status_${status}`): its beginning up to the last underscore counts.
  // `common` is a shared vocabulary: pages choose from it, so a word may be there before its first use.
  const unused = [...english.keys()].filter((key) => !key.startsWith('common.') && !all.includes(`'${key}'`) && !all.includes(`"${key}"`) && !all.includes(`\`${key.replace(/_[^_.]*$/, '_')}\${`));
  expect(unused).toEqual([]);
});

/** Attributes that a person reads or hears. */
const READ = new Set(['aria-label', 'title', 'placeholder', 'alt', 'label', 'about']);
/** Elements whose contents are not language: code and keys. */
const LITERAL = new Set(['code', 'kbd', 'style', 'script']);
const letters = /\p{L}{2,}/u;
/** Names that are the same in every language, and units of CSS. */
const NAMES = new Set(['Manyhands', 'JSON', 'ID', 'UTC']);
/** Examples of what is typed into a field: names, addresses and commands, which are the same in every language. */
const EXAMPLE = /^(@ada|signal|laptop|notes|files|X-Api-Key|\$\{notes-key\}|API_KEY=…|npx -y .*|https:\/\/\S+|(laptop|gsv):\S+|\{\s*"mcpServers"[^]*\})$/;

type Node = { type?: string; name?: string; data?: string; value?: unknown } & Record<string, unknown>;

function literals(node: unknown, found: string[], inLiteral = false): void {
  if (Array.isArray(node)) {
    for (const one of node) literals(one, found, inLiteral);
    return;
  }
  if (typeof node !== 'object' || node === null) return;
  const one = node as Node;
  if (one.type === 'Text') {
    if (!inLiteral && letters.test(one.data ?? '')) found.push((one.data ?? '').trim());
    return;
  }
  if (one.type === 'Attribute') {
    if (READ.has(one.name ?? '')) literals(one.value, found);
    return;
  }
  // Sizes, classes and functions are not read.
  if (/Directive$/.test(one.type ?? '')) return;
  if (one.type === 'ExpressionTag') {
    if (!inLiteral) spoken(one.expression, found);
    return;
  }
  const literal = inLiteral || (one.type === 'RegularElement' && LITERAL.has(one.name ?? ''));
  for (const [key, value] of Object.entries(one)) if (!['metadata', 'parent', 'css', 'instance', 'module'].includes(key)) literals(value, found, literal);
}

/** Literals that an expression in the markup results in: `{busy ? 'Saving' : name}`. What functions are given is not shown. */
function spoken(expression: unknown, found: string[]): void {
  if (typeof expression !== 'object' || expression === null) return;
  const one = expression as Node;
  const say = (text: unknown) => typeof text === 'string' && letters.test(text) && found.push(text.trim());
  if (one.type === 'Literal') say(one.value);
  if (one.type === 'TemplateLiteral') for (const quasi of one.quasis as { value: { cooked: string } }[]) say(quasi.value.cooked);
  if (one.type === 'TemplateLiteral') for (const inner of one.expressions as unknown[]) spoken(inner, found);
  if (one.type === 'ConditionalExpression') for (const branch of [one.consequent, one.alternate]) spoken(branch, found);
  if (one.type === 'LogicalExpression' || (one.type === 'BinaryExpression' && one.operator === '+')) for (const side of [one.left, one.right]) spoken(side, found);
}

/** Texts that a script shows: `live.say('Saved')`, `live.tried(act, 'Saved')`. */
function announced(node: unknown, found: string[]): void {
  if (Array.isArray(node)) {
    for (const one of node) announced(one, found);
    return;
  }
  if (typeof node !== 'object' || node === null) return;
  const one = node as Node;
  const callee = one.type === 'CallExpression' ? (one.callee as { object?: Node; property?: Node }) : null;
  if (callee?.object?.name === 'live' && ['say', 'tried', 'fail'].includes(callee.property?.name ?? '')) for (const given of one.arguments as unknown[]) spoken(given, found);
  for (const [key, value] of Object.entries(one)) if (!['metadata', 'parent', 'loc'].includes(key)) announced(value, found);
}

/** Every text of a component that is not in the catalogue. */
function own(text: string): string[] {
  const found: string[] = [];
  const parsed = parseComponent(text, { modern: true });
  literals(parsed.fragment, found);
  announced(parsed.instance, found);
  return found.filter((words) => !NAMES.has(words) && !EXAMPLE.test(words));
}

test('texts outside the catalogue are found wherever they stand', () => {
  expect(own('<p>Hello {name}</p>')).toEqual(['Hello']);
  expect(own('<p>{a ? `Hello ${name}` : t("common.save")}{b || "Bye"}</p>')).toEqual(['Hello', 'Bye']);
  expect(own('<button aria-label="Hello" class="button" {...rest}></button><Head title={a ? "Bye" : b} />')).toEqual(['Hello', 'Bye']);
  expect(own('<script>live.tried(() => post("/api/x"), "Saved"); live.say(`Hello ${name}`)</script>')).toEqual(['Saved', 'Hello']);
  expect(own('<p><kbd>Ctrl</kbd> <code>manyhands up</code> · {t("common.save")}</p><strong>Manyhands</strong><div style:height="{n}px" class={a ? "on" : ""}></div>')).toEqual([]);
});

/** Components whose texts are not in the catalogue yet. */
const PENDING: string[] = [];

test('no component holds texts of its own', () => {
  const broken = [...source]
    .filter(([file]) => file.endsWith('.svelte'))
    .flatMap(([file, text]) => {
      const found = own(text);
      if (PENDING.includes(file)) return found.length ? [] : [`${file}: remove it from PENDING`];
      return found.map((words) => `${file}: ${words}`);
    });
  expect(broken).toEqual([]);
});

test('a module that shows texts of an area loads them', () => {
  const first = ['common', 'shell', 'login', 'parts'];
  const lacking = [...source].flatMap(([file, text]) => {
    const shown = new Set([...text.matchAll(/['"`]([a-z]+)\.([A-Za-z0-9]+)/g)].filter(([, area, key]) => Object.hasOwn((en as Record<string, object>)[area ?? ''] ?? {}, key ?? '')).map(([, area]) => area ?? ''));
    return [...shown].filter((area) => !first.includes(area) && !text.includes(`texts/use/${area}'`)).map((area) => `${file}: ${area}`);
  });
  expect(lacking).toEqual([]);
});
