// Every colour of a text is readable on every surface it stands on (WCAG 2.2, 1.4.3 and 1.4.11), in light and in dark.
import { describe, expect, it } from 'vitest';
import css from '../src/colours.css?raw';

/** The tokens of a block that follows this selector. */
function tokens(selector: string): Record<string, string> {
  const block = css.slice(css.indexOf(selector)).split('}')[0] ?? '';
  return Object.fromEntries([...block.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map((found) => [found[1], found[2]]));
}
function luminance(hex: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
function contrast(one: string, other: string): number {
  const [high = 0, low = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
}

const SURFACES = ['ground', 'surface', 'sunken', 'raised'];
const PAIRS: [string, string, number][] = [
  ...['text', 'quiet', 'accent', 'good', 'warn', 'bad', 'code-comment', 'code-string', 'code-number', 'code-word'].flatMap((text) => SURFACES.map((on): [string, string, number] => [text, on, 4.5])),
  ...['accent', 'good', 'warn', 'bad'].flatMap((kind): [string, string, number][] => [[kind, `${kind}-soft`, 4.5], ['text', `${kind}-soft`, 4.5], ['quiet', `${kind}-soft`, 4.5]]),
  ['accent-text', 'accent', 4.5],
  // Borders of fields, and the outline of what has the focus.
  ...['line-strong', 'accent'].flatMap((line) => SURFACES.map((on): [string, string, number] => [line, on, 3])),
];

it('measures as the definition does', () => {
  expect(contrast('#000000', '#ffffff')).toBeCloseTo(21, 5);
  expect(contrast('#777777', '#ffffff')).toBeCloseTo(4.48, 2);
});

describe.each([['light', ':root {'], ['dark, by the system', ":root:not([data-theme='light'])"], ['dark, chosen', ":root[data-theme='dark']"]])('%s', (_name, selector) => {
  const all = tokens(selector);
  it.each(PAIRS)('%s on %s: %d to 1', (text, on, least) => {
    expect(all[text], text).toBeDefined();
    expect(contrast(all[text] ?? '', all[on] ?? '')).toBeGreaterThanOrEqual(least);
  });
});

it('has the same dark colours however they come', () => expect(tokens(":root[data-theme='dark']")).toEqual(tokens(":root:not([data-theme='light'])")));
