import { describe, expect, it } from 'vitest';
import { ansi } from '../src/lib/ansi';

const ESC = '\u001b';

describe('what a program prints', () => {
  const cases: [string, string, { text: string; look: string }[]][] = [
    ['plain text', 'a\nb', [{ text: 'a\nb', look: '' }]],
    ['a colour and its end', `${ESC}[31mred${ESC}[0m plain`, [{ text: 'red', look: 'fg1' }, { text: ' plain', look: '' }]],
    ['several at once', `${ESC}[1;4;92mok${ESC}[m`, [{ text: 'ok', look: 'fg10 bold underline' }]],
    ['a background, and swapped colours', `${ESC}[41mx${ESC}[49;32;7my`, [{ text: 'x', look: 'bg1' }, { text: 'y', look: 'bg2' }]],
    ['256 and true colours as the nearest of 16', `${ESC}[38;5;9ma${ESC}[38;2;0;200;0mb${ESC}[38;5;240mc`, [{ text: 'a', look: 'fg9' }, { text: 'b', look: 'fg2' }, { text: 'c', look: 'fg7' }]],
    ['a progress bar in its last state', '10%\r50%\r100%\ndone', [{ text: '100%\ndone', look: '' }]],
    ['lines of Windows', 'a\r\nb\r\n', [{ text: 'a\nb\n', look: '' }]],
    ['titles, links and moves not at all', `${ESC}]0;title\u0007a${ESC}[2Kb${ESC}[3Ac`, [{ text: 'abc', look: '' }]],
  ];
  it.each(cases)('shows %s', (_what, printed, spans) => expect(ansi(printed)).toEqual(spans));
  it('is not many elements, however it changes colours', () => {
    const much = Array.from({ length: 50_000 }, (_, at) => `${ESC}[3${at % 8}mx`).join('\n');
    const spans = ansi(much);
    expect(spans.length).toBeLessThan(10_000);
    expect(spans.map((one) => one.text).join('').replaceAll('\n', '')).toHaveLength(50_000);
  });
});
