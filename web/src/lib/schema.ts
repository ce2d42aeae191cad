// From a JSON Schema to a form, and from what was typed back to arguments. The form is a help: the
// gateway checks every call itself, and what a form cannot show is typed as JSON.

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

type Shared = { name: string; about: string; required: boolean };
export type Field = Shared &
  (
    | { kind: 'text'; long: boolean; max: number | null }
    | { kind: 'number'; whole: boolean; min: number | null; max: number | null }
    | { kind: 'switch' }
    | { kind: 'choice'; options: { value: unknown; label: string; about: string }[] }
    | { kind: 'list'; item: Field }
    | { kind: 'object'; fields: Field[] }
    | { kind: 'json' }
  );

/** What a form holds: text where text is typed, undefined where nothing was said. */
export type Draft = string | boolean | undefined | Draft[] | { [key: string]: Draft };

export type Problem = { path: string; message: string };

/** Deeper objects are typed as JSON, and so are schemas that lead in circles. */
const DEEPEST = 5;
const MOST_FIELDS = 200;
/** Parameters whose words are usually long. */
const LONG = /^(content|text|message|code|script|patch|body|prompt|query|command|cmd|data|old_?string|new_?string|systemPrompt|description)$/i;

/** The form of a schema. */
export function fieldOf(schema: Schema | boolean | undefined, name = '', required = true, root?: Schema, depth = 0): Field {
  const whole = root ?? (typeof schema === 'object' ? schema : {});
  const told = simple(schema, whole);
  const shared: Shared = { name, about: told?.description ?? '', required };
  if (!told || depth > DEEPEST) return { ...shared, kind: 'json' };
  const options = choices(told, whole);
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
      const item = fieldOf(told.items, 'item', true, whole, depth + 1);
      return item.kind === 'json' ? { ...shared, kind: 'json' } : { ...shared, kind: 'list', item };
    }
    case 'object': {
      const properties = Object.entries(told.properties ?? {});
      if (!properties.length && depth > 0) return { ...shared, kind: 'json' };
      if (properties.length > MOST_FIELDS) return { ...shared, kind: 'json' };
      const must = new Set(told.required ?? []);
      const fields = properties.map(([key, inner]) => fieldOf(inner, key, must.has(key), whole, depth + 1));
      fields.sort((one, other) => Number(other.required) - Number(one.required));
      return { ...shared, kind: 'object', fields };
    }
    default:
      return { ...shared, kind: 'json' };
  }
}

/** A schema without references, nulls and wrappers; null when it says too many things at once. */
function simple(schema: Schema | boolean | undefined, root: Schema, depth = 0): Schema | null {
  if (typeof schema !== 'object' || schema === null || depth > 8) return null;
  if (schema.$ref) {
    const target = follow(schema.$ref, root);
    const found = simple(target, root, depth + 1);
    return found && { ...found, description: schema.description ?? found.description };
  }
  const wrapped = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  if (wrapped && !choices(schema, root)) {
    const real = wrapped.filter((one) => one.type !== 'null');
    const only = real.length === 1 && real[0] ? simple(real[0], root, depth + 1) : null;
    if (only) return { ...only, description: schema.description ?? only.description };
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
    case 'json':
      return JSON.stringify(value, null, 2);
  }
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
  if (missing && field.kind !== 'object') return field.required ? wrong('is required') : undefined;
  switch (field.kind) {
    case 'text': {
      const text = String(draft);
      if (text === '' && !field.required) return undefined;
      if (field.max !== null && text.length > field.max) return wrong(`has more than ${field.max} characters`);
      return text;
    }
    case 'number': {
      const number = Number(String(draft).trim());
      if (!Number.isFinite(number)) return wrong('must be a number');
      if (field.whole && !Number.isInteger(number)) return wrong('must be a whole number');
      if (field.min !== null && number < field.min) return wrong(`must be at least ${field.min}`);
      if (field.max !== null && number > field.max) return wrong(`must be at most ${field.max}`);
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
    case 'json':
      try {
        return JSON.parse(String(draft)) as unknown;
      } catch (error) {
        return wrong(`is not JSON: ${error instanceof Error ? error.message : ''}`);
      }
  }
}
