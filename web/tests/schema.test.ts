import { describe, expect, it } from 'vitest';
import { blank, collect, fieldOf, filled, type Draft, type Schema } from '../src/lib/schema';

const object = (properties: Record<string, Schema>, required: string[] = []): Schema => ({ type: 'object', properties, required });

describe('a form', () => {
  it('has a field for each parameter, those that are needed first', () => {
    const field = fieldOf(object({ limit: { type: ['integer', 'null'], minimum: 1, maximum: 5, description: 'How many.' }, path: { type: 'string' } }, ['path']));
    expect(field).toMatchObject({
      kind: 'object',
      fields: [
        { name: 'path', kind: 'text', required: true, long: false },
        { name: 'limit', kind: 'number', required: false, whole: true, min: 1, max: 5, about: 'How many.' },
      ],
    });
  });

  const kinds: [string, Schema, object][] = [
    ['boolean', { type: 'boolean' }, { kind: 'switch' }],
    ['long text', { type: 'string' }, { kind: 'text' }],
    ['enum with null', { enum: ['a', 'b', null], type: ['string', 'null'] }, { kind: 'choice', options: [{ value: 'a' }, { value: 'b' }] }],
    ['consts with words', { oneOf: [{ const: 'x', description: 'X.' }, { const: 'y' }] }, { kind: 'choice', options: [{ value: 'x', about: 'X.' }, { value: 'y' }] }],
    ['optional choice', { anyOf: [{ oneOf: [{ const: 'x' }, { const: 'y' }] }, { type: 'null' }] }, { kind: 'choice', options: [{ value: 'x' }, { value: 'y' }] }],
    ['list', { type: 'array', items: { type: 'string' } }, { kind: 'list', item: { kind: 'text' } }],
    ['nullable object', { anyOf: [object({ a: { type: 'string' } }), { type: 'null' }] }, { kind: 'object' }],
    ['anything', {}, { kind: 'json' }],
    ['two types', { type: ['string', 'number', 'null'] }, { kind: 'variant', options: [{ label: 'text', field: { kind: 'text' } }, { label: 'number', field: { kind: 'number' } }, { field: { kind: 'json' } }] }],
    ['a map', { type: 'object', additionalProperties: { type: 'string' } }, { kind: 'json', says: 'object with values: text' }],
    ['list of anything', { type: 'array', items: true }, { kind: 'json', says: 'list: [any value, …]' }],
    ['several shapes', { oneOf: [object({ a: {} }, ['a']), object({ kind: { const: 'b' } })] }, { kind: 'variant', options: [{ label: 'With a', field: { kind: 'object' } }, { label: 'kind: b' }, {}] }],
    ['shapes that are no forms', { anyOf: [{ type: 'array', items: true }, { type: 'object' }] }, { kind: 'json', says: 'list: [any value, …] or object with values: any value' }],
    ['a format and a default', { type: 'string', format: 'date', default: '2027-03-01' }, { kind: 'text', hint: 'Date, for example 2027-03-01; Default: 2027-03-01' }],
    ['a size of numbers', { type: 'integer', format: 'uint32', default: 5 }, { kind: 'number', hint: 'Default: 5' }],
  ];
  it.each(kinds)('%s', (_, schema, field) => {
    const made = fieldOf(object({ it: schema }));
    expect(made.kind === 'object' ? made.fields[0] : null).toMatchObject(field);
  });

  it('follows references, and not in circles', () => {
    const schema: Schema = { ...object({ a: { $ref: '#/$defs/Node' } }), $defs: { Node: object({ next: { $ref: '#/$defs/Node' } }) } };
    expect(() => fieldOf(schema)).not.toThrow();
    const loop: Schema = { $ref: '#/$defs/A', $defs: { A: { $ref: '#/$defs/A' } } };
    expect(fieldOf(loop).kind).toBe('json');
    expect(fieldOf({ $ref: 'https://elsewhere.example/x' }).kind).toBe('json');
  });

  it('ends, whatever leads to whatever', () => {
    const wide = object(Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`p${at}`, { $ref: '#/$defs/Wide' }])));
    const shapes: Schema = { oneOf: Array.from({ length: 20 }, () => object({ more: { $ref: '#/$defs/Shapes' } })) };
    const field = fieldOf({ ...object({ wide: { $ref: '#/$defs/Wide' }, shapes: { $ref: '#/$defs/Shapes' } }), $defs: { Wide: wide, Shapes: shapes } });
    expect(JSON.stringify(field).length).toBeLessThan(3_000_000);
    expect(collect(field, filled(field, { shapes: { more: { other: 1 } } })).problems).toEqual([]);
  });

  it('does not break on schemas that make no sense', () => {
    for (const odd of [true, false, undefined, { type: 'nonsense' }, { enum: [] }, { properties: {} }, { type: [] }, { oneOf: [] }]) {
      expect(() => fieldOf(odd as Schema)).not.toThrow();
    }
  });
});

describe('a choice of shapes', () => {
  const when: Schema = {
    oneOf: [
      { ...object({ kind: { const: 'at' }, time: { type: 'string' } }, ['kind', 'time']), title: 'Once' },
      { ...object({ kind: { const: 'every' }, minutes: { type: 'integer', minimum: 1 } }, ['kind', 'minutes']), title: 'Again and again' },
      { type: 'string' },
    ],
  };
  const field = fieldOf(object({ when }, ['when']));
  it('is asked for, and then has the fields of its shape', () => {
    expect(collect(field, {}).problems).toEqual([{ path: 'when', message: 'is required' }]);
    const [at] = field.kind === 'object' ? field.fields : [];
    expect(at).toMatchObject({ kind: 'variant', options: [{ label: 'Once' }, { label: 'Again and again' }, { label: 'text' }, {}] });
    const chosen = at?.kind === 'variant' ? at.options[1] : undefined;
    const draft = { when: { which: '1', of: chosen && blank(chosen.field) } };
    expect(collect(field, draft).problems).toEqual([{ path: 'when.minutes', message: 'is required' }]);
    expect(collect(field, { when: { which: '1', of: { kind: '0', minutes: '5' } } })).toEqual({ value: { when: { kind: 'every', minutes: 5 } }, problems: [] });
  });
  it.each([[{ kind: 'at', time: 'noon' }], [{ minutes: 3, kind: 'every' }], ['tomorrow'], [{ kind: 'never', why: [1] }], [7]])('comes back as it was: %j', (value) =>
    expect(collect(field, filled(field, { when: value }))).toEqual({ value: { when: value }, problems: [] }));
});

describe('what is typed', () => {
  const schema = object(
    {
      path: { type: 'string' },
      count: { type: 'integer', minimum: 1, maximum: 9 },
      mode: { enum: ['a', 'b'] },
      yes: { type: 'boolean' },
      tags: { type: 'array', items: { type: 'string' } },
      more: object({ x: { type: 'number' } }, ['x']),
      any: {},
    },
    ['path'],
  );
  const field = fieldOf(schema);
  const typed = (draft: Record<string, Draft>) => collect(field, draft);

  it('becomes arguments of the right types, and what was not said is left out', () => {
    expect(typed({ path: 'a' })).toEqual({ value: { path: 'a' }, problems: [] });
    const all = typed({ path: 'a', count: '3', mode: '1', yes: false, tags: ['t', 'u'], more: { x: '1.5' }, any: '{"deep":[1]}' });
    expect(all).toEqual({ value: { path: 'a', count: 3, mode: 'b', yes: false, tags: ['t', 'u'], more: { x: 1.5 }, any: { deep: [1] } }, problems: [] });
  });

  it('is told what is wrong with it, by parameter', () => {
    expect(typed({}).problems).toEqual([{ path: 'path', message: 'is required' }]);
    expect(typed({ path: 'a', count: '0' }).problems).toEqual([{ path: 'count', message: 'must be at least 1' }]);
    expect(typed({ path: 'a', count: '10' }).problems).toEqual([{ path: 'count', message: 'must be at most 9' }]);
    expect(typed({ path: 'a', count: '1.5' }).problems).toEqual([{ path: 'count', message: 'must be a whole number' }]);
    expect(typed({ path: 'a', count: 'x' }).problems).toEqual([{ path: 'count', message: 'must be a number' }]);
    expect(typed({ path: 'a', any: '{' }).problems[0]).toMatchObject({ path: 'any' });
    expect(typed({ path: 'a', tags: ['t', undefined] }).problems).toEqual([{ path: 'tags[1]', message: 'is required' }]);
  });

  it('may be an empty text where a text is needed', () => {
    expect(typed({ path: '' })).toEqual({ value: { path: '' }, problems: [] });
  });

  it('comes back from arguments as it was', () => {
    const args = { path: 'a', count: 3, mode: 'b', yes: true, tags: ['t'], more: { x: 2 }, any: [1] };
    expect(collect(field, filled(field, args))).toEqual({ value: args, problems: [] });
    expect(collect(field, filled(field, {})).problems).toEqual([{ path: 'path', message: 'is required' }]);
    expect(blank(field)).toMatchObject({ path: undefined });
  });
});
