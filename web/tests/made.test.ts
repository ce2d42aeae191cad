import { expect, it } from 'vitest';
import { artifactIn } from '../src/lib/made';

const id = '01a1df9b-4272-7707-9a51-6e3e22edaf6b';

it('is found in what a tool gave', () => {
  const result = JSON.stringify({ id, filename: 'plan.md', mimeType: 'text/markdown', size: 6, url: 'http://x/y' });
  expect(artifactIn(result)).toEqual({ id, name: 'plan.md', mime: 'text/markdown', size: 6 });
});

it('is nothing else: not another id, not half a result, not text', () => {
  for (const other of ['', 'words', '{', '[]', 'null', JSON.stringify({ id }), JSON.stringify({ id: '../../x', filename: 'a', mimeType: 'b' }), JSON.stringify({ id: 7, filename: 'a', mimeType: 'b' })]) {
    expect(artifactIn(other), other).toBeNull();
  }
});
