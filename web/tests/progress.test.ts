import { expect, it } from 'vitest';
import { nextStep, readMarks } from '../src/lib/progress';

it('the model comes first, and what was skipped is not asked for again', () => {
  expect(nextStep({})).toBe('model');
  expect(nextStep({ model: 'skipped' })).toBe('chat');
  expect(nextStep({ model: 'done', chat: 'done', node: 'done', channel: 'skipped' })).toBe('client');
  expect(nextStep({ model: 'done', chat: 'done', client: 'skipped', node: 'done', channel: 'done' })).toBeNull();
});

it('a browser that stores nothing starts over', () => {
  expect(readMarks()).toEqual({});
});
