// An example of what a tool is given: what its schema says, or else something plausible for a parameter of that name.

import type { Schema } from './schema';

const PLAUSIBLE: [RegExp, unknown][] = [
  [/^(path|file|filename)$/i, 'memory/example.md'],
  [/^(url|uri|href)$/i, 'https://example.com'],
  [/^(cmd|command|script)$/i, 'ls -la'],
  [/^(query|request|search|q)$/i, 'notes about the project'],
  [/^(content|text|message|body)$/i, 'Hello'],
  [/^code$/i, '1 + 1'],
  [/^argv$/i, ['git', 'status']],
  [/^(pattern|glob)$/i, '*.md'],
  [/(date|day)$/i, '2027-03-01'],
  [/name$/i, 'example'],
  [/(limit|count|max)/i, 10],
];
const DEEPEST = 4;

function resolved(schema: Schema, root: Schema): Schema {
  const name = /^#\/(?:\$defs|definitions)\/([^/]+)$/.exec(schema.$ref ?? '')?.[1];
  const found = name === undefined ? undefined : (root.$defs?.[name] ?? root.definitions?.[name]);
  return found ?? schema;
}

function exampleOf(given: Schema | boolean | undefined, name: string, root: Schema, depth: number): unknown {
  if (typeof given !== 'object' || depth > DEEPEST) return undefined;
  const schema = resolved(given, root) as Schema & { examples?: unknown[] };
  if (schema.examples?.length) return schema.examples[0];
  if (schema.const !== undefined) return schema.const;
  if (schema.default !== undefined && schema.default !== null) return schema.default;
  if (schema.enum?.length) return schema.enum[0];
  const shape = (schema.oneOf ?? schema.anyOf)?.find((one) => one.type !== 'null');
  if (shape) return exampleOf(shape, name, root, depth + 1);
  const type = Array.isArray(schema.type) ? schema.type.find((one) => one !== 'null') : schema.type;
  const plausible = PLAUSIBLE.find(([names, value]) => names.test(name) && (Array.isArray(value) ? type === 'array' : type === undefined || typeof value === (type === 'integer' ? 'number' : type)))?.[1];
  if (plausible !== undefined) return plausible;
  switch (type) {
    case 'string':
      return 'example';
    case 'integer':
    case 'number':
      return schema.minimum ?? 1;
    case 'boolean':
      return true;
    case 'array': {
      const item = exampleOf(schema.items, name, root, depth + 1);
      return item === undefined ? [] : [item];
    }
    case 'object':
      return example(schema, root, depth + 1);
    default:
      return undefined;
  }
}

/** Arguments with everything that is required, or else with the first that there is. */
export function example(schema: Schema, root: Schema = schema, depth = 0): Record<string, unknown> {
  const whole = (schema as { examples?: unknown[] }).examples?.[0];
  if (depth === 0 && typeof whole === 'object' && whole !== null) return whole as Record<string, unknown>;
  const [first] = Object.keys(schema.properties ?? {});
  const needed = schema.required?.length ? schema.required : first !== undefined && depth === 0 ? [first] : [];
  const values = needed.map((name): [string, unknown] => [name, exampleOf(schema.properties?.[name], name, root, depth)]);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}
