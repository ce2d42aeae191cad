import { describe, expect, test } from 'vitest';
import { search, snippet, words, type Section } from '../guide/search';

const section = (url: string, chapter: string, heading: string, text: string): Section => ({ url, chapter, heading, text });
const SECTIONS = [
  section('nodes.html', 'Nodes', 'Nodes', 'A node is a machine that shares its files.'),
  section('nodes.html#copy-files', 'Nodes', 'Copy files', 'A copy is verified by SHA-256.'),
  section('jobs.html#missed', 'Jobs', 'Missed runs', 'A job that was missed while the node was off.'),
  section('reference/config.html#node-sandbox', 'Settings', 'node.sandbox', 'What the commands of the node may change.'),
];
const found = (query: string) => search(SECTIONS, query).map((one) => one.section.url);

describe('the search of the guide', () => {
  test('every word has to occur, in the heading, the chapter or the text', () => {
    expect(found('copy sha')).toEqual(['nodes.html#copy-files']);
    expect(found('copy nothing')).toEqual([]);
    expect(found('')).toEqual([]);
    expect(found('   ')).toEqual([]);
  });

  test('a heading counts more than text, and a whole word more than a part', () => {
    expect(found('node')[0]).not.toBe('jobs.html#missed');
    expect(found('missed')[0]).toBe('jobs.html#missed');
    expect(found('nodes')[0]).toBe('nodes.html');
  });

  test('names of settings are found whole and in parts, whatever their case', () => {
    expect(words('Node.Sandbox')).toEqual(['node.sandbox']);
    expect(found('NODE.sandbox')).toEqual(['reference/config.html#node-sandbox']);
    expect(found('sandb')).toEqual(['reference/config.html#node-sandbox']);
  });

  test('a snippet shows the text around the first match, with matches marked', () => {
    const pieces = snippet(`${'x '.repeat(100)}the needle (here)${' y'.repeat(200)}`, 'needle (');
    expect(pieces.filter(({ match }) => match).map(({ text }) => text)).toEqual(['needle']);
    expect(pieces.map(({ text }) => text).join('').length).toBeLessThan(170);
    expect(snippet('short', 'absent')).toEqual([{ text: 'short', match: false }]);
  });
});
