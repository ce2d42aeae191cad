import { describe, expect, it } from 'vitest';
import { dotted, known, leaves, maps } from '../src/lib/config';
import type { Schema } from '../src/lib/schema';

const schema = {
  type: 'object',
  properties: {
    log: { $ref: '#/$defs/Log', description: 'What is written.', 'x-restart': true },
    models: { type: 'object', properties: { providers: { type: 'object', 'x-local': true, additionalProperties: { $ref: '#/$defs/Provider' } }, prices: { type: 'object', additionalProperties: { type: 'number', description: 'A price.' } } } },
    agents: { type: 'object', additionalProperties: { $ref: '#/$defs/Agent' } },
    round: { $ref: '#/$defs/Round' },
  },
  $defs: {
    Log: { type: 'object', properties: { level: { type: 'string', description: 'How much.', default: 'info' } } },
    Provider: { type: 'object', properties: { key: { type: 'string', 'x-secret': true } } },
    Agent: { type: 'object', properties: { model: { anyOf: [{ type: 'string' }, { type: 'null' }], description: 'Its model.' } } },
    Round: { $ref: '#/$defs/Round' },
  },
} as unknown as Schema;

describe('settings', () => {
  it('are values that are set one by one', () => {
    const all = leaves({ log: { level: 'info' }, list: [{ a: 1 }], empty: {}, prices: { 'a/b.c': 2 } });
    expect(all.map((one) => one.path)).toEqual(['log.level', 'list', 'empty', 'prices."a/b.c"']);
  });
  it('have paths that the gateway reads', () => expect(dotted(['agents', 'my agent', 'x-y'])).toBe('agents."my agent".x-y'));
  it('are known by their schema, with marks of what stands above', () => {
    expect(known(schema, ['log', 'level'])).toMatchObject({ about: 'How much.', restart: true, local: false, fallback: 'info' });
    expect(known(schema, ['models', 'providers', 'x', 'key'])).toMatchObject({ local: true, secret: true });
    expect(known(schema, ['agents', 'any', 'model'])).toMatchObject({ about: 'Its model.', schema: { type: 'string' } });
  });
  it('are unknown where there is no schema, or one that leads in circles', () => {
    expect(known(null, ['log'])).toMatchObject({ about: '', local: false });
    expect(known(schema, ['absent', 'deep']).schema).toBeUndefined();
    expect(known(schema, ['round', 'round']).about).toBe('');
  });
  it('can be added to where names are free and the file is not the only place', () => {
    expect(maps(schema).map((one) => one.keys)).toEqual([['models', 'prices'], ['agents']]);
  });
});
