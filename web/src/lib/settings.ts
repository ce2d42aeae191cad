// The settings as a page shows them: sections, groups, and a control for each value, all derived from the schema.

import { dotted, known, type Marked } from './config';
import { fieldOf, type Field, type Schema } from './schema';

export type Control =
  | { kind: 'switch' }
  | { kind: 'choice'; options: { value: unknown; label: string }[] }
  | { kind: 'size'; min: number }
  | { kind: 'number'; unit: Unit; whole: boolean; min: number | null; max: number | null }
  | { kind: 'clock' }
  | { kind: 'text'; long: boolean; suggest: 'model' | 'zone' | 'secret' | '' }
  | { kind: 'chips'; options: string[] | null }
  /** Anything larger: it has a form of its own. */
  | { kind: 'form' }
  /** A value that the gateway masks. */
  | { kind: 'masked' };

export type Unit = '' | 'ms' | 's' | 'min' | 'h' | 'd' | 'percent' | 'dollars' | 'tokens';

export type Setting = {
  path: string;
  keys: string[];
  label: string;
  about: string;
  value: unknown;
  /** The value that applies when it is not set. */
  fallback: unknown;
  /** It may be unset. */
  nullable: boolean;
  local: boolean;
  restart: boolean;
  control: Control;
  schema: Schema | undefined;
};

/** Settings that belong together: a table, a map of named entries, or one such entry. */
export type Group = {
  path: string;
  keys: string[];
  about: string;
  /** What an entry of the map holds. */
  entry: Schema | null;
  local: boolean;
  /** It is an entry that can be removed as a whole. */
  removable: boolean;
  settings: Setting[];
};

/** Top-level keys by section; sections without keys are made of more than settings. */
export const SECTIONS = [
  { id: 'models', icon: 'star', keys: ['models'] },
  { id: 'tokens', icon: 'shield', keys: [] },
  { id: 'secrets', icon: 'chest', keys: [] },
  { id: 'appearance', icon: 'sun', keys: [] },
  { id: 'general', icon: 'gear', keys: ['timezone', 'public_url', 'workspace_root', 'file_cache_dir', 'file_state_dir', 'node'] },
  { id: 'agents', icon: 'people', keys: ['agents', 'sessions', 'skills', 'acp'] },
  { id: 'approvals', icon: 'check', keys: ['policy'] },
  { id: 'tools', icon: 'tools', keys: ['tools', 'auth_profiles', 'discovery'] },
  { id: 'jobs', icon: 'clock', keys: ['cron', 'heartbeat'] },
  { id: 'channels', icon: 'send', keys: ['channels'] },
  { id: 'clients', icon: 'plug', keys: ['mcpServers', 'mcp', 'oauth'] },
  { id: 'network', icon: 'node', keys: ['listen', 'insecure_remote', 'allowed_hosts', 'allowed_origins', 'trusted_proxies', 'tls', 'egress'] },
  { id: 'limits', icon: 'chart', keys: ['limits'] },
  { id: 'logs', icon: 'list', keys: ['audit', 'log', 'metrics', 'telemetry'] },
  { id: 'file', icon: 'file', keys: [] },
] as const;

export type SectionId = (typeof SECTIONS)[number]['id'];

/** The section of a top-level key; one that a newer gateway added is a general one. */
export const sectionOf = (key: string): SectionId => SECTIONS.find((one) => (one.keys as readonly string[]).includes(key))?.id ?? 'general';

// Words of keys that are written differently in a label.
const WORDS: Record<string, string> = { makers: 'provider presets', url: 'URL', api: 'API', ca: 'CA', dm: 'DM', id: 'ID', mcp: 'MCP', acp: 'ACP', oauth: 'OAuth', tls: 'TLS', jwks: 'JWKS', searxng: 'SearXNG', env: 'environment', vars: 'variables', max: 'maximum', min: 'minimum', bytes: 'size', ms: 'milliseconds' };

/** A key as a label: `max_concurrent_runs` is `Maximum concurrent runs`. */
export function labelOf(key: string): string {
  const words = key.replace(/([a-z])([A-Z])/g, '$1_$2').toLowerCase().split('_').filter(Boolean);
  const text = words.map((word) => WORDS[word] ?? word).join(' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const UNITS: [RegExp, Unit][] = [
  [/(^|_)milliseconds$/, 'ms'],
  [/(^|_)seconds$|^timeout$/, 's'],
  [/(^|_)minutes$/, 'min'],
  [/(^|_)hours$/, 'h'],
  [/(^|_)days$/, 'd'],
  [/(^|_)percent$/, 'percent'],
  [/^dollars$/, 'dollars'],
  [/(^|_)tokens$/, 'tokens'],
];
export const unitOf = (key: string): Unit => UNITS.find(([pattern]) => pattern.test(key))?.[1] ?? '';

const nullable = (schema: Schema | undefined): boolean => (Array.isArray(schema?.type) && schema.type.includes('null')) || Boolean((schema?.anyOf ?? schema?.oneOf)?.some((one) => one.type === 'null'));

function controlOf(key: string, schema: Marked | undefined, field: Field, value: unknown): Control {
  // A masked value is never filled into a field: saving it would replace the secret by asterisks.
  if (value === '***') return { kind: 'masked' };
  const check = (schema as { 'x-check'?: string } | undefined)?.['x-check'];
  switch (field.kind) {
    case 'switch':
      return nullable(schema) ? { kind: 'choice', options: [{ value: true, label: 'true' }, { value: false, label: 'false' }] } : { kind: 'switch' };
    case 'choice':
      return { kind: 'choice', options: field.options.map(({ value: one, label }) => ({ value: one, label })) };
    case 'number':
      if (/(^|_)bytes($|_)/.test(key)) return { kind: 'size', min: field.min ?? 0 };
      return { kind: 'number', unit: unitOf(key), whole: field.whole, min: field.min, max: field.max };
    case 'text': {
      if (check === 'clock' && key.startsWith('active_')) return { kind: 'clock' };
      const suggest = check === 'vault' ? 'secret' : key === 'timezone' ? 'zone' : /^(default|model|rerank)$/.test(key) && field.about.includes('provider/model') ? 'model' : '';
      return { kind: 'text', long: field.long || key === 'system_prompt', suggest };
    }
    case 'list':
      if (field.item.kind === 'text') return { kind: 'chips', options: null };
      if (field.item.kind === 'choice' && field.item.options.every((one) => typeof one.value === 'string')) return { kind: 'chips', options: field.item.options.map((one) => String(one.value)) };
      return { kind: 'form' };
    default:
      return { kind: 'form' };
  }
}

function setting(root: Schema | null, keys: string[], value: unknown): Setting {
  const { about, local, restart, fallback, schema, secret } = known(root, keys);
  const key = keys.at(-1) ?? '';
  const field = fieldOf(schema, key, true, root ?? {});
  const control = secret && value !== null && typeof value !== 'object' ? ({ kind: 'masked' } as const) : controlOf(key, schema, field, value);
  return { path: dotted(keys), keys, label: labelOf(key), about, value, fallback, nullable: nullable(schema), local, restart, control, schema };
}

const isTable = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

/** All settings in groups, in the order of the schema. */
export function groupsOf(config: unknown, root: Schema | null): Group[] {
  const groups: Group[] = [];
  const walk = (value: Record<string, unknown>, keys: string[], removable: boolean) => {
    const group: Group = { path: dotted(keys), keys, about: known(root, keys).about, entry: null, local: known(root, keys).local, removable, settings: [] };
    groups.push(group);
    const schema = known(root, keys).schema;
    const names = [...new Set([...Object.keys(schema?.properties ?? {}), ...Object.keys(value)])].filter((name) => Object.hasOwn(value, name));
    for (const name of names) {
      const inner = [...keys, name];
      const one = value[name];
      const { schema: below, about, local } = known(root, inner);
      const entry = typeof below?.additionalProperties === 'object' ? known(root, [...inner, '*']).schema : undefined;
      if (entry && isTable(one)) {
        groups.push({ path: dotted(inner), keys: inner, about, entry, local, removable: false, settings: [] });
        for (const [entryName, held] of Object.entries(one)) {
          const whole = [...inner, entryName];
          if (isTable(held) && entry.properties) walk(held, whole, !local);
          else groups.push({ path: dotted(whole), keys: whole, about: '', entry: null, local, removable: !local, settings: [{ ...setting(root, whole, held), label: entryName }] });
        }
      } else if (isTable(one) && Object.keys(one).length) walk(one, inner, false);
      else group.settings.push(setting(root, inner, one));
    }
  };
  if (isTable(config)) walk(config, [], false);
  // The group of a table stands before those of its parts; one that holds nothing itself is not shown.
  return groups.filter((group) => group.settings.length || group.entry || group.removable);
}

/** What the description says about an unset value: `Default: the machine's.` is `the machine's`. */
export function describedDefault(about: string): string {
  const said = /Default: (.+?)\.(?:\s|$)/.exec(about.replaceAll('\n', ' '))?.[1] ?? '';
  return said.replaceAll('`', '');
}

/** Whether a value is the default. */
export const isDefault = ({ value, fallback }: Pick<Setting, 'value' | 'fallback'>): boolean => JSON.stringify(value ?? null) === JSON.stringify(fallback ?? null);

const SIZES: [string, number][] = [['B', 1], ['KiB', 1024], ['MiB', 1024 ** 2], ['GiB', 1024 ** 3], ['TiB', 1024 ** 4]];
export const SIZE_UNITS = SIZES.map(([name]) => name);

/** A number of bytes in the largest unit of which it is a short number. */
export function sizeOf(bytes: number): { amount: string; unit: string } {
  const [unit, size] = SIZES.findLast(([, one]) => bytes >= one && Number.isInteger((bytes / one) * 4)) ?? ['B', 1];
  return { amount: String(bytes / size), unit };
}

/** The bytes of an amount in a unit; NaN if it is no number. */
export const bytesOf = (amount: string, unit: string): number => (amount.trim() === '' ? NaN : Math.round(Number(amount) * (SIZES.find(([name]) => name === unit)?.[1] ?? 1)));

/** Whether all words are found in what is known of a setting. */
export function fits(one: Setting, words: string[], more = ''): boolean {
  const value = one.control.kind === 'masked' ? '' : (JSON.stringify(one.value) ?? '');
  const text = `${one.path} ${one.label} ${value} ${one.about} ${more}`.toLowerCase();
  return words.every((word) => text.includes(word));
}
