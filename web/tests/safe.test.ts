import { describe, expect, it } from 'vitest';
import { bounded, flowing, laidOut, pieces, plain, readable } from '../src/lib/safe';

const shown = (text: string) => pieces(text).map((piece) => piece.text).join('');

describe('text of others', () => {
  it('is left alone when it is plain, markup included', () => {
    const text = '<script>alert(1)</script>\n\ttab & "quotes" 日本語 👩‍👩‍👧 עברית';
    expect(pieces(text)).toEqual([{ text }]);
  });

  it('shows control characters by name', () => {
    expect(pieces('a\u0007b\u001b[31m')).toEqual([
      { text: 'a' },
      { text: 'BEL', odd: 'U+0007 control character' },
      { text: 'b' },
      { text: 'ESC', odd: 'U+001B control character' },
      { text: '[31m' },
    ]);
  });

  it('shows what turns the direction of reading', () => {
    const [first] = pieces('\u202Egnp.exe');
    expect(first).toEqual({ text: 'U+202E', odd: 'U+202E right-to-left override' });
    for (const odd of ['\u2066', '\u2067', '\u2068', '\u2069', '\u200e', '\u200f', '\u061c', '\u202a', '\u202b', '\u202c', '\u202d']) {
      expect(shown(`x${odd}y`)).not.toContain(odd);
    }
  });

  it('shows what cannot be seen: tags, joins and marks without width', () => {
    for (const odd of ['\u200b', '\u2060', '\ufeff', '\u00ad', '\u{e0041}']) expect(shown(odd)).not.toContain(odd);
  });

  it('makes no page of elements from a text of nothing else, and lets none through', () => {
    const made = pieces('\u202e'.repeat(50_000));
    expect(made.length).toBeLessThan(2_100);
    expect(made.map((piece) => piece.text).join('')).not.toContain('\u202e');
  });

  it('ends lines in one way', () => {
    expect(shown('a\r\nb')).toBe('a\nb');
    expect(shown('a\rb')).toBe('aCRb');
  });

  it('is cut where it is too long, never inside a character', () => {
    expect(bounded('abcdef', 3)).toEqual({ shown: 'abc', left: 3 });
    expect(bounded('ab👍', 3)).toEqual({ shown: 'ab', left: 2 });
    expect(bounded('a\nb\nc', 100, 2)).toEqual({ shown: 'a\nb', left: 2 });
    expect(bounded('short', 100, 9)).toEqual({ shown: 'short', left: 0 });
    expect(plain('x'.repeat(300), 10)).toBe(`${'x'.repeat(10)}…`);
  });

  it('flows where lines were only broken to fit, and keeps paragraphs and lists', () => {
    expect(flowing('one\n`two`\n\nthree\n- four\n- five\n1. six')).toBe('one `two`\n\nthree\n- four\n- five\n1. six');
  });

  it('lays results out to be read', () => {
    expect(laidOut('{"exit_code":0,"stdout":"a\\nb\\n","stderr":"","list":[1]}')).toBe('exit_code: 0\nstdout:\n  a\n  b\nstderr: \nlist: [\n  1\n]');
    for (const other of ['words', '{ not json', '', '[1]']) expect(laidOut(other)).toBe(other);
  });

  it('makes text of any value', () => {
    expect(readable('as it is')).toBe('as it is');
    expect(readable({ a: [1] })).toBe('{\n  "a": [\n    1\n  ]\n}');
    expect(readable(undefined)).toBe('');
  });
});
