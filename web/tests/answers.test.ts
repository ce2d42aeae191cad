import { expect, it } from 'vitest';

const all: Record<string, string> = import.meta.glob('../src/**/*.{ts,svelte}', { query: '?raw', import: 'default', eager: true });
const written = Object.entries(all).filter(([name]) => !name.includes('/generated/'));

it('names what the gateway answers only by generated types', () => {
  const types = all['../src/lib/answers.ts']?.match(/^export type .*$/gm) ?? [];
  expect(types.length).toBeGreaterThan(20);
  for (const type of types) expect(type).toMatch(/^export type \w+ = Schemas\['\w+'\];$/);
});

it('writes no shape of an answer where it asks for one', () => {
  expect(written.length).toBeGreaterThan(50);
  const byHand = written.filter(([, text]) => /\b(?:get|post|put|remove)<\s*[{[]/.test(text));
  expect(byHand.map(([name]) => name)).toEqual([]);
});
