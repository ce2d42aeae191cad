import { expect, it } from 'vitest';
import { noted } from '../src/lib/todos';
import { when } from '../src/lib/words';

it('a time of a todo is the same moment wherever one looks from', () => {
  const moment = when(Date.UTC(2026, 1, 11, 9, 30));
  expect(noted('2026-02-11 09:30')).toBe(moment);
  expect(noted('2026-02-11T09:30')).toBe(moment);
  expect(noted('2026-02-11T09:30:00Z')).toBe(moment);
});
it('what is no time is told as it stands', () => {
  expect(noted('after lunch')).toBe('after lunch');
  expect(noted(null)).toBe('');
  expect(noted('2026-99-99 09:30')).toBe('2026-99-99 09:30');
});
