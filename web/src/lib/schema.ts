// From a JSON Schema to a form, and from what was typed back to arguments. The form is a help: the
// gateway checks every call itself, and what a form cannot show is typed as JSON.

import { t, type Key } from './i18n';
import { either } from './words';

export type Schema = {
  type?: string | string[];
  title?: string;
  description?: string;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema | boolean;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  $ref?: string;
  $defs?: Record<string, Schema>;
  definitions?: Record<string, Schema>;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  minLength?: number;
  maxLength?: number;
  maxItems?: number;
  format?: string;
};

type Shared = { name: string; about: string; required: boolean; hint: string };
export type Field = Shared &
  (
    | { kind: 'text'; long: boolean; max: number | null }
    | { kind: 'number'; whole: boolean; min: number | null; max: number | null }
    | { kind: 'switch' }
    | { kind: 'choice'; options: { value: unknown; label: string; about: string }[] }
    | { kind: 'list'; item: Field }
    | { kind: 'object'; fields: Field[] }
    | { kind: 'variant'; options: { label: string; field: Field }[] }
    | { kind: 'json'; says: string }
  );

/** What a form holds: text where text is typed, undefined where nothing was said, and of several shapes which one (`which`) and what it holds (`of`). */
export type Draft = string | boolean | undefined | Draft[] | { [key: string]: Draft };

export type Problem = { path: string; message: string };

/** Deeper objects are typed as JSON, and so are schemas that lead in circles. */
const DEEPEST = 5;
const MOST_FIELDS = 200;
/** How many fields a form has in all, however its schema leads from one to the next. */
const MOST_IN_ALL = 3_000;
const MOST_SHAPES = 24;
/** Parameters whose words are usually long. */
const LONG = /^(content|text|message|code|script|patch|body|prompt|query|command|cmd|data|old_?string|new_?string|systemPrompt|description)$/i;

/** The form of a schema. */
export function fieldOf(schema: Schema | boolean | undefined, name = '', required = true, root?: Schema): Field {
  return made(schema, name, required, { root: root ?? (typeof schema === 'object' ? schema : {}), left: MOST_IN_ALL }, 0);
}

/** The schema as a whole, and how many fields may still be made of it. */
type Whole = { root: Schema; left: number };

function made(schema: Schema | boolean | undefined, name: string, required: boolean, whole: Whole, depth: number): Field {
  whole.left -= 1;
  const told = simple(schema, whole.root);
  const plainly = told ?? resolved(schema, whole.root);
  const shared: Shared = { name, about: plainly?.description ?? '', required, hint: hintOf(plainly) };
  const json = { ...shared, kind: 'json' as const, says: words(plainly, whole.root) };
  if (depth > DEEPEST || whole.left < 0) return json;
  if (!told) {
    const options = shapes(plainly, name, whole, depth);
    return options ? { ...shared, kind: 'variant', options } : json;
  }
  const options = choices(told, whole.root);
  if (options) return { ...shared, kind: 'choice', options };
  const type = typeof told.type === 'string' ? told.type : undefined;
  switch (type) {
    case 'string':
      return { ...shared, kind: 'text', long: LONG.test(name), max: told.maxLength ?? null };
    case 'integer':
    case 'number': {
      const min = told.minimum ?? told.exclusiveMinimum ?? null;
      return { ...shared, kind: 'number', whole: type === 'integer', min, max: told.maximum ?? null };
    }
    case 'boolean':
      return { ...shared, kind: 'switch' };
    case 'array': {
      const item = made(told.items, 'item', true, whole, depth + 1);
      return item.kind === 'json' ? json : { ...shared, kind: 'list', item };
    }
    case 'object': {
      const properties = Object.entries(told.properties ?? {});
      if (!properties.length && depth > 0) return json;
      if (properties.length > MOST_FIELDS) return json;
      const must = new Set(told.required ?? []);
      const fields = properties.map(([key, inner]) => made(inner, key, must.has(key), whole, depth + 1));
      fields.sort((one, other) => Number(other.required) - Number(one.required));
      return { ...shared, kind: 'object', fields };
    }
    default:
      return json;
  }
}

/** The shapes among which a schema leaves the choice, without that of nothing at all. */
function parts(schema: Schema | null): Schema[] {
  if (Array.isArray(schema?.type)) return schema.type.filter((one) => one !== 'null').map((type) => ({ ...schema, type, title: '', description: '', default: undefined }));
  const listed = schema?.oneOf ?? schema?.anyOf;
  return Array.isArray(listed) ? listed.filter((one) => one?.type !== 'null') : [];
}

/** A form for each shape; what fits none of them is typed as JSON. */
function shapes(schema: Schema | null, name: string, whole: Whole, depth: number): { label: string; field: Field }[] | null {
  const listed = parts(schema);
  if (listed.length < 2 || listed.length > MOST_SHAPES) return null;
  const options = listed.map((one) => ({ label: labelOf(one, whole.root), field: made(one, name, true, whole, depth + 1) }));
  if (options.every(({ field }) => field.kind === 'json')) return null;
  return [...options.filter(({ field }) => field.kind !== 'json' || field.says !== ANYTHING), { label: t('parts.otherAsJson'), field: { name, about: '', required: true, hint: '', kind: 'json', says: '' } }];
}

/** By what a shape is called: its title, what it always says, what it must have, or what it is. */
function labelOf(schema: Schema, root: Schema): string {
  const told = simple(schema, root) ?? schema;
  if (told.title || schema.title) return String(told.title || schema.title);
  const always = Object.entries(told.properties ?? {}).flatMap(([key, inner]) => (typeof inner === 'object' && inner?.const !== undefined ? [`${key}: ${short(inner.const)}`] : []));
  if (always.length) return always.join(', ');
  const must = told.required ?? Object.keys(told.properties ?? {});
  if (told.type === 'object' && must.length) return t('parts.withFields', { fields: must.slice(0, 4).join(', ') });
  return words(told, root);
}

const short = (value: unknown) => {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
};

const ANYTHING = t('parts.typeAny');
const TYPES: Record<string, Key> = { string: 'parts.typeText', number: 'parts.typeNumber', integer: 'parts.typeInteger', boolean: 'parts.typeBoolean', null: 'parts.typeNull' };

/** The values that a schema accepts, in words. */
function words(schema: Schema | null, root: Schema, depth = 0): string {
  if (!schema || depth > 3) return ANYTHING;
  const options = choices(schema, root);
  if (options) return options.length ? either(options.slice(0, 12).map((one) => short(one.value))) : ANYTHING;
  const inner = (of: Schema | boolean | undefined) => words(resolved(of, root), root, depth + 1);
  const several = parts(schema);
  if (several.length) return either([...new Set(several.slice(0, 12).map((one) => one.title || inner(one)))]);
  if (schema.type === 'array') return t('parts.typeList', { item: inner(schema.items) });
  if (schema.type === 'object' || schema.properties) {
    const keys = Object.keys(schema.properties ?? {}).slice(0, 12);
    if (keys.length) return t('parts.typeObject', { fields: keys.map((key) => `"${key}"`).join(', ') });
    return t('parts.typeMap', { value: typeof schema.additionalProperties === 'object' ? inner(schema.additionalProperties) : ANYTHING });
  }
  const type = typeof schema.type === 'string' ? TYPES[schema.type] : undefined;
  return type ? t(type) : ANYTHING;
}

const FORMATS: Record<string, Key> = {
  'date-time': 'parts.formatDateTime',
  date: 'parts.formatDate',
  time: 'parts.formatTime',
  duration: 'parts.formatDuration',
  email: 'parts.formatEmail',
  uri: 'parts.formatUrl',
  url: 'parts.formatUrl',
  uuid: 'parts.formatUuid',
};

/** The expected format and the default. */
function hintOf(schema: Schema | null): string {
  const said: string[] = [];
  const textual = schema?.type === 'string' || (Array.isArray(schema?.type) && schema.type.includes('string'));
  if (textual && typeof schema?.format === 'string') said.push(t(FORMATS[schema.format] ?? 'parts.formatOther', { format: schema.format }));
  if (schema?.default !== undefined && schema.default !== null) said.push(t('parts.defaultIs', { value: schema.default === '' ? t('parts.emptyText') : short(schema.default) }));
  return said.join('; ');
}

/** A schema with its reference followed. */
function resolved(schema: Schema | boolean | undefined, root: Schema, depth = 0): Schema | null {
  if (typeof schema !== 'object' || schema === null || depth > 8) return null;
  if (!schema.$ref) return schema;
  const found = resolved(follow(schema.$ref, root), root, depth + 1);
  return found && { ...found, description: schema.description ?? found.description };
}

/** A schema without references, nulls and wrappers; null when it says too many things at once. */
function simple(schema: Schema | boolean | undefined, root: Schema, depth = 0): Schema | null {
  if (typeof schema !== 'object' || schema === null || depth > 8) return null;
  if (schema.$ref) {
    const target = follow(schema.$ref, root);
    const found = simple(target, root, depth + 1);
    return found && { ...found, description: schema.description ?? found.description, default: schema.default ?? found.default };
  }
  const wrapped = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  if (wrapped && !choices(schema, root)) {
    const real = wrapped.filter((one) => one.type !== 'null');
    const only = real.length === 1 && real[0] ? simple(real[0], root, depth + 1) : null;
    if (only) return { ...only, description: schema.description ?? only.description, default: schema.default ?? only.default };
    if (!schema.properties) return null;
  }
  if (Array.isArray(schema.type)) {
    const real = schema.type.filter((one) => one !== 'null');
    return real.length === 1 ? { ...schema, type: real[0] } : null;
  }
  if (!schema.type && schema.properties) return { ...schema, type: 'object' };
  return schema;
}

function follow(ref: string, root: Schema): Schema | undefined {
  const name = /^#\/(?:\$defs|definitions)\/([^/]+)$/.exec(ref)?.[1];
  return name === undefined ? undefined : (root.$defs?.[name] ?? root.definitions?.[name]);
}

/** The values to choose from, where a schema lists them. */
function choices(schema: Schema, root: Schema): { value: unknown; label: string; about: string }[] | null {
  const one = (value: unknown, about = '') => ({ value, label: typeof value === 'string' ? value : JSON.stringify(value), about });
  if (schema.const !== undefined) return [one(schema.const, schema.description)];
  if (schema.enum) return schema.enum.filter((value) => value !== null).map((value) => one(value));
  const listed = (schema.oneOf ?? schema.anyOf)?.filter((part) => part.type !== 'null');
  if (!listed?.length) return null;
  if (listed.length === 1 && listed[0]) {
    const inner = listed[0].$ref ? follow(listed[0].$ref, root) : listed[0];
    return inner && inner !== schema && (inner.enum || inner.oneOf) ? choices(inner, root) : null;
  }
  if (listed.every((part) => part.const !== undefined)) return listed.map((part) => one(part.const, part.description));
  return null;
}

/** An empty form. */
export function blank(field: Field): Draft {
  if (field.kind === 'object' && field.required) return Object.fromEntries(field.fields.map((inner) => [inner.name, blank(inner)]));
  if (field.kind === 'choice' && field.required && field.options.length === 1) return '0';
  return undefined;
}

/** A form that holds these arguments, for instance those of a call that is made again. */
export function filled(field: Field, value: unknown): Draft {
  if (value === undefined || value === null) return blank(field);
  switch (field.kind) {
    case 'text':
      return typeof value === 'string' ? value : JSON.stringify(value);
    case 'number':
      return String(value);
    case 'switch':
      return Boolean(value);
    case 'choice': {
      const at = field.options.findIndex((option) => option.value === value);
      return at < 0 ? undefined : String(at);
    }
    case 'list':
      return Array.isArray(value) ? value.map((item) => filled(field.item, item)) : undefined;
    case 'object': {
      const given = value as Record<string, unknown>;
      return Object.fromEntries(field.fields.map((inner) => [inner.name, filled(inner, given[inner.name])]));
    }
    case 'variant': {
      // The first shape that gives back what it was given.
      const which = field.options.findIndex((option) => {
        const taken = collect(option.field, filled(option.field, value));
        return !taken.problems.length && same(taken.value, value);
      });
      const option = field.options[which];
      return option && { which: String(which), of: filled(option.field, value) };
    }
    case 'json':
      return JSON.stringify(value, null, 2);
  }
}

/** Whether two values say the same, in whatever order. */
function same(one: unknown, other: unknown): boolean {
  if (typeof one !== 'object' || typeof other !== 'object' || !one || !other) return one === other;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const [mine, theirs] = [one as Record<string, unknown>, other as Record<string, unknown>];
  const keys = Object.keys(mine);
  return keys.length === Object.keys(theirs).length && keys.every((key) => Object.hasOwn(theirs, key) && same(mine[key], theirs[key]));
}

/** The shape that was chosen, and what is said of it. */
export function shapeOf(field: Field & { kind: 'variant' }, draft: Draft): { at: number; field: Field; of: Draft } | null {
  if (typeof draft !== 'object' || Array.isArray(draft) || typeof draft.which !== 'string') return null;
  const option = field.options[Number(draft.which)];
  return option ? { at: Number(draft.which), field: option.field, of: draft.of } : null;
}

/** What was typed, as arguments, and what is wrong with it. */
export function collect(field: Field, draft: Draft): { value: unknown; problems: Problem[] } {
  const problems: Problem[] = [];
  return { value: take(field, draft, '', problems), problems };
}

function take(field: Field, draft: Draft, path: string, problems: Problem[]): unknown {
  const wrong = (message: string) => {
    problems.push({ path, message });
    return undefined;
  };
  const missing = draft === undefined || (draft === '' && field.kind !== 'text');
  if (missing && field.kind !== 'object') return field.required ? wrong(t('parts.isRequired')) : undefined;
  switch (field.kind) {
    case 'text': {
      const text = String(draft);
      if (text === '' && !field.required) return undefined;
      if (field.max !== null && text.length > field.max) return wrong(t('parts.tooLong', { n: field.max }));
      return text;
    }
    case 'number': {
      const number = Number(String(draft).trim());
      if (!Number.isFinite(number)) return wrong(t('parts.notNumber'));
      if (field.whole && !Number.isInteger(number)) return wrong(t('parts.notInteger'));
      if (field.min !== null && number < field.min) return wrong(t('parts.tooSmall', { n: field.min }));
      if (field.max !== null && number > field.max) return wrong(t('parts.tooLarge', { n: field.max }));
      return number;
    }
    case 'switch':
      return draft === true || draft === 'true';
    case 'choice':
      return field.options[Number(draft)]?.value;
    case 'list':
      return (Array.isArray(draft) ? draft : []).map((item, at) => take(field.item, item, `${path}[${at}]`, problems));
    case 'object': {
      const given = typeof draft === 'object' && !Array.isArray(draft) ? draft : undefined;
      if (!given && !field.required) return undefined;
      const value: Record<string, unknown> = {};
      const before = problems.length;
      for (const inner of field.fields) {
        const one = take(inner, given?.[inner.name], path ? `${path}.${inner.name}` : inner.name, problems);
        if (one !== undefined) value[inner.name] = one;
      }
      // An object that need not be there and of which nothing was said is left out.
      if (!field.required && Object.keys(value).length === 0) {
        problems.length = before;
        return undefined;
      }
      return value;
    }
    case 'variant': {
      const shape = shapeOf(field, draft);
      if (!shape) return field.required ? wrong(t('parts.isRequired')) : undefined;
      return take(shape.field, shape.of, path, problems);
    }
    case 'json':
      try {
        return JSON.parse(String(draft)) as unknown;
      } catch (error) {
        return wrong(t('parts.notJson', { problem: error instanceof Error ? error.message : '' }));
      }
  }
}
