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
  const literal = inLiteral || (one.type === 'RegularElement' && LITERAL.has(one.name ?? ''));
  for (const [key, value] of Object.entries(one)) if (!['metadata', 'parent', 'css', 'instance', 'module'].includes(key)) literals(value, found, literal);
}

/** Components whose texts are not in the catalogue yet. */
const PENDING: string[] = [
  'App.svelte',
  'pages/Activity.svelte',
  'pages/Agents.svelte',
  'pages/Artifacts.svelte',
  'pages/Channels.svelte',
  'pages/Cron.svelte',
  'pages/Health.svelte',
  'pages/Nodes.svelte',
  'pages/People.svelte',
  'pages/Policy.svelte',
  'pages/Resources.svelte',
  'pages/Servers.svelte',
  'pages/Settings.svelte',
  'pages/Tools.svelte',
  'pages/Usage.svelte',
  'pages/Welcome.svelte',
  'pages/Workspace.svelte',
  'pages/agents/Memory.svelte',
  'pages/agents/Skills.svelte',
  'pages/cron/Edit.svelte',
  'pages/cron/Heartbeats.svelte',
  'pages/cron/Timeline.svelte',
  'pages/nodes/Files.svelte',
  'pages/nodes/Logs.svelte',
  'pages/nodes/Processes.svelte',
  'pages/nodes/Terminal.svelte',
  'pages/nodes/Transfers.svelte',
  'pages/policy/EditRule.svelte',
  'pages/policy/Untrusted.svelte',
  'pages/servers/Account.svelte',
  'pages/servers/AddServer.svelte',
  'pages/settings/Add.svelte',
  'pages/settings/AddModel.svelte',
  'pages/settings/Config.svelte',
  'pages/settings/Models.svelte',
  'pages/settings/Secrets.svelte',
  'pages/settings/Set.svelte',
  'pages/settings/Tokens.svelte',
  'pages/tools/Try.svelte',
  'pages/usage/Sums.svelte',
  'pages/workspace/Editor.svelte',
  'parts/Approval.svelte',
  'parts/Arguments.svelte',
  'parts/Code.svelte',
  'parts/Dialog.svelte',
  'parts/Diff.svelte',
  'parts/Login.svelte',
  'parts/Markdown.svelte',
  'parts/Mode.svelte',
  'parts/Palette.svelte',
  'parts/Result.svelte',
  'parts/SchemaField.svelte',
  'parts/Toasts.svelte',
  'parts/Untrusted.svelte',
  'parts/VirtualList.svelte',
  'parts/Words.svelte',
];

test('no component holds texts of its own', () => {
  const broken = [...source]
    .filter(([file]) => file.endsWith('.svelte'))
    .flatMap(([file, text]) => {
      const found: string[] = [];
      literals(parseComponent(text, { modern: true }).fragment, found);
      const own = found.filter((words) => words !== 'Manyhands');
      if (PENDING.includes(file)) return own.length ? [] : [`${file}: remove it from PENDING`];
      return own.map((words) => `${file}: ${words}`);
    });
  expect(broken).toEqual([]);
});
