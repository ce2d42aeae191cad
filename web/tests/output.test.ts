import { expect, it } from 'vitest';
import { example } from '../src/lib/examples';
import { languageOf, outputOf } from '../src/lib/output';

it('a result is sorted by how it is best read', () => {
  expect(outputOf(null).kind).toBe('nothing');
  expect(outputOf('plain words')).toEqual({ kind: 'text', text: 'plain words', language: '' });
  expect(outputOf({ stdout: 'a\n', stderr: '', exitCode: 2 })).toEqual({ kind: 'program', out: 'a\n', err: '', exit: 2, rest: {} });
  expect(outputOf({ files: [{ name: 'a', size: 1 }, { name: 'b' }], count: 2 })).toEqual({ kind: 'table', columns: ['name', 'size'], rows: [{ name: 'a', size: 1 }, { name: 'b' }], rest: { count: 2 } });
  expect(outputOf({ path: 'a', diff: '+x' })).toEqual({ kind: 'diff', text: '+x', rest: { path: 'a' } });
  expect(outputOf({ path: 'a.md', content: 'x', none: null })).toEqual({ kind: 'values', rest: { path: 'a.md', content: 'x' } });
  expect(outputOf('[{"a":1}]').kind).toBe('table');
  expect(outputOf('{not json').kind).toBe('text');
  expect(outputOf([1, 2]).kind).toBe('json');
});

it('contents are coloured by the name of their file', () => {
  expect(languageOf({ path: 'src/main.rs' })).toBe('rust');
  expect(languageOf({})).toBe('');
});

it('an example has what is required, from the schema where it says so', () => {
  const schema = { type: 'object', required: ['path', 'mode', 'n', 'list'], properties: { path: { type: 'string' }, mode: { enum: ['a', 'b'] }, n: { type: 'integer', minimum: 3 }, list: { type: 'array', items: { $ref: '#/$defs/one' } }, other: { type: 'string' } }, $defs: { one: { type: 'object', required: ['url'], properties: { url: { type: 'string' } } } } };
  expect(example(schema)).toEqual({ path: 'memory/example.md', mode: 'a', n: 3, list: [{ url: 'https://example.com' }] });
  expect(example({ type: 'object' })).toEqual({});
});
