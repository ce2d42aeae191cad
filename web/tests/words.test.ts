import { expect, it } from 'vitest';
import { ago, ahead, brief, bytes, caller, money, short, took } from '../src/lib/words';

it('says times as people do', () => {
  const now = Date.UTC(2026, 10, 15, 12);
  expect(ago(now - 10_000, now)).toBe('just now');
  expect(ago(now - 5 * 60_000, now)).toBe('5 minutes ago');
  expect(ago(now + 3 * 3_600_000, now)).toBe('in 3 hours')
  expect(ago(now - 26 * 3_600_000, now)).toBe('1 day ago');
  expect(ago('nonsense', now)).toBe('');
  expect(ago(null, now)).toBe('');
});

it('says the year where it is not this one', () => {
  const now = new Date(2026, 10, 15, 12).getTime();
  const [soon, later] = [new Date(2026, 11, 28, 9), new Date(2027, 2, 28, 9)];
  for (const say of [ahead, ago, brief]) {
    expect(say(soon.getTime(), now)).not.toContain('2026');
    expect(say(later.getTime(), now)).toContain('2027');
  }
  const years = [2027, 2028, 2029].map((year) => ahead(new Date(year, 2, 28, 9).getTime(), now));
  expect(new Set(years).size).toBe(3);
});

it('says sizes, lengths and money shortly', () => {
  expect([bytes(999), bytes(1_500), bytes(2_000_000), bytes(999_999)]).toEqual(['999 B', '1.5 kB', '2.0 MB', '1.0 MB']);
  expect([took(0.2), took(42), took(1_500), took(59_970), took(61_000), took(5_400_000)]).toEqual(['< 1 ms', '42 ms', '1.5 s', '1 min 0 s', '1 min 1 s', '1.5 h']);
  expect([money(0), money(1_234), money(2_500_000)]).toEqual(['$0', '$0.0012', '$2.50']);
  expect([short(12), short(1_234), short(45_678), short(1_200_000)]).toEqual(['12', '1.2K', '45.7K', '1.2M']);
});

it('calls a browser a browser, and others by their names', () => {
  expect(caller('page 2026-11-15T16:48:34.143Z')).toBe('Browser');
  expect(caller('owner:page 2026-11-15T16:48:34.143Z:01a1')).toBe('owner:Browser:01a1');
  expect(caller('client:page turner')).toBe('client:page turner');
});
