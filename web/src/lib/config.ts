// Settings as a list of values that are set one by one, and what the schema says of each.

import type { Schema } from './schema';

export type Leaf = { path: string; keys: string[]; value: unknown };
export type Marked = Schema & { 'x-local'?: boolean; 'x-restart'?: boolean; 'x-secret'?: boolean };
/** What is known of a setting: `local` ones are set in the file alone. */
export type Known = { about: string; local: boolean; restart: boolean; secret: boolean; fallback: unknown; schema: Schema | undefined };

const DEEPEST = 12;

/** A path as the gateway reads it: a key with other than letters, digits, - and _ stands in quotes. */
export function dotted(keys: string[]): string {
  return keys.map((key) => (/^[\w-]+$/.test(key) ? key : JSON.stringify(key))).join('.');
}

/** Every value that is set by itself: what is inside lists stays together. */
export function leaves(value: unknown, keys: string[] = []): Leaf[] {
  const table = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!table || Object.keys(value).length === 0) return [{ path: dotted(keys), keys, value }];
  return Object.entries(value).flatMap(([key, inner]) => leaves(inner, [...keys, key]));
}

function resolved(schema: Marked | boolean | undefined, root: Schema, depth = 0): Marked | undefined {
  if (typeof schema !== 'object' || depth > DEEPEST) return undefined;
  const name = /^#\/(?:\$defs|definitions)\/([^/]+)$/.exec(schema.$ref ?? '')?.[1];
  if (name !== undefined) return { ...resolved(root.$defs?.[name] ?? root.definitions?.[name], root, depth + 1), ...schema };
  const real = (schema.anyOf ?? schema.oneOf)?.filter((one) => one.type !== 'null');
  const only = real?.length === 1 ? resolved(real[0], root, depth + 1) : undefined;
  return only ? { ...only, ...schema, description: schema.description ?? only.description } : schema;
}

/** What stands below a key: a property, or what every key of a map holds. */
function below(schema: Marked | undefined, key: string): Marked | boolean | undefined {
  return schema?.properties?.[key] ?? schema?.additionalProperties;
}

/** What the schema says of a setting; nothing where there is none. */
export function known(root: Schema | null, keys: string[]): Known {
  let at = root ? resolved(root, root) : undefined;
  const marks = { local: false, restart: false, secret: false };
  for (const key of keys) {
    at = root ? resolved(below(at, key), root) : undefined;
    marks.local ||= at?.['x-local'] ?? false;
    marks.restart ||= at?.['x-restart'] ?? false;
    marks.secret ||= at?.['x-secret'] ?? false;
  }
  return { about: at?.description ?? '', ...marks, fallback: at?.default, schema: at };
}

/** Maps to which an entry can be added from here: their keys and what an entry holds. */
export function maps(root: Schema, keys: string[] = [], depth = 0): { keys: string[]; entry: Schema }[] {
  const { schema, local } = known(root, keys);
  if (!schema || local || depth > 4) return [];
  const entry = typeof schema.additionalProperties === 'object' ? resolved(schema.additionalProperties, root) : undefined;
  const here = entry && keys.length ? [{ keys, entry }] : [];
  return [...here, ...Object.keys(schema.properties ?? {}).flatMap((key) => maps(root, [...keys, key], depth + 1))];
}
