import { expect, it } from 'vitest';
import { labelFor } from '../src/lib/forms';
import { Refused } from '../src/lib/http';

it('finds the label of a parameter by its whole path, without positions, or by its beginning', () => {
  const labels = { name: 'Name', 'schedule.tz': 'Time zone', rules: 'Rules' };
  expect(labelFor(labels, 'name')).toBe('Name');
  expect(labelFor(labels, 'schedule.tz')).toBe('Time zone');
  expect(labelFor(labels, 'rules[2].tools')).toBe('Rules');
  expect(labelFor(labels, 'other')).toBe('other');
});

it('is used for what the gateway says about parameters', () => {
  const error = new Refused('invalid_arguments', 'rules[0].tools: is empty', '', [{ parameter: 'rules[0].tools', message: 'is empty' }], {}, 400);
  expect(error.labelled({ rules: 'Rules' })).toBe('Rules: is empty');
});
