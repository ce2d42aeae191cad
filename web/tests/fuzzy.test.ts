import { describe, expect, it } from 'vitest';
import { fits } from '../src/lib/fuzzy';

/** The texts that fit, best first. */
const found = (query: string, texts: string[]) =>
  texts
    .map((text) => ({ text, score: fits(query, [text]) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .map(({ text }) => text);

describe('what is typed finds', () => {
  it('whole words before beginnings, beginnings before parts, and parts before letters', () => {
    expect(found('read', ['thread', 'readme', 'Read it', 'reload a dog'])).toEqual(['Read it', 'readme', 'thread', 'reload a dog']);
  });
  it.each([
    ['rf', 'gsv__ReadFile'],
    ['gsvrf', 'gsv__ReadFile'],
    ['nc', 'New chat'],
    ['turn_min', 'sessions.turn_minutes'],
    ['设', '设置'],
  ])('%s: %s', (query, text) => expect(fits(query, [text])).toBeGreaterThan(0));
  it('nothing where a word or a letter is missing, or the letters are far apart', () => {
    expect(fits('read xyz', ['Read file'])).toBe(0);
    expect(fits('rz', ['Read file'])).toBe(0);
    expect(fits('sg', ['send a long text to another person'])).toBe(0);
    expect(fits('', ['Read file'])).toBe(0);
  });
  it('a name before what is only described so', () => {
    expect(fits('token', ['Create token', ''])).toBeGreaterThan(fits('token', ['Log out', 'revokes the token']));
  });
});
