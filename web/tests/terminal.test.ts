import { describe, expect, it } from 'vitest';
import { screen } from '../src/lib/terminal';

describe('a screen', () => {
  it.each([
    ['\u001b[31mred\u001b[0m and \u001b[1;32mgreen\u001b[m', 'red and green'],
    ['\u001b]0;a title\u0007text', 'text'],
    ['\u001b]8;;https://evil.example\u001b\\link\u001b]8;;\u001b\\', 'link'],
    ['10%\r50%\r100%\ndone\n', '100%\ndone\n'],
    ['windows\r\nlines\r\n', 'windows\nlines\n'],
    ['\u001b[2J\u001b[Hclear', 'clear'],
    ['plain', 'plain'],
  ])('of %j shows %j', (printed, shown) => expect(screen(printed)).toBe(shown));
  it('leaves what is no sequence to be shown by name', () => expect(screen('a\u0007b\u202ec')).toBe('a\u0007b\u202ec'));
  it('is made soon, whatever is printed', () => {
    const began = performance.now();
    screen('\u001b]'.repeat(100_000));
    screen('\u001b[1'.repeat(100_000));
    expect(performance.now() - began).toBeLessThan(2_000);
  });
});
