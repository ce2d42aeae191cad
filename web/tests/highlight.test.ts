import { expect, it } from 'vitest';
import { highlight } from '../src/lib/highlight';

it('colours what it knows', () => {
  expect(highlight('let x = 1; // one', 'rust')).toEqual([
    { kind: 'word', text: 'let' },
    { kind: '', text: ' x = ' },
    { kind: 'number', text: '1' },
    { kind: '', text: '; ' },
    { kind: 'comment', text: '// one' },
  ]);
  expect(highlight('# not code', 'python')[0]).toEqual({ kind: 'comment', text: '# not code' });
});

it('changes no character, whatever comes', () => {
  for (const code of ['"open', "'\\", '/* open', '`a\nb', '\u202e"x"', 'a'.repeat(60_000), '"\\'.repeat(5_000)]) {
    for (const language of ['js', 'sh', 'sql', '', 'unknown']) {
      expect(highlight(code, language).map((span) => span.text).join('')).toBe(code);
    }
  }
});
