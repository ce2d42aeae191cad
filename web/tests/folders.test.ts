import { describe, expect, it } from 'vitest';
import { below, inside } from '../src/lib/folders';

describe('a folder of many paths', () => {
  const paths = ['/w/b.txt', '/w/a10.txt', '/w/a9.txt', '/w/src/x.rs', '/w/src/deep/y.rs', '/w/srcs/z.rs'];
  const names = (folder: string) => inside('/w', paths, folder).map((one) => `${one.name}${one.folder ? '/' : ''}`);
  it('shows folders first, and numbers as people count', () => expect(names('')).toEqual(['src/', 'srcs/', 'a9.txt', 'a10.txt', 'b.txt']));
  it('shows what stands directly in it', () => expect(names('src/')).toEqual(['deep/', 'x.rs']));
  it('says where each is', () => expect(inside('/w/', paths, 'src/').map((one) => one.path)).toEqual(['/w/src/deep', '/w/src/x.rs']));
  it('takes ten thousand in its stride', () => {
    const many = Array.from({ length: 10_000 }, (_, at) => `/w/f${at}`);
    expect(inside('/w', many, '')).toHaveLength(10_000);
  });
});

it('knows where a place stands', () => {
  expect([below('/w', '/w'), below('/w/', '/w/src'), below('/w', '/w/src/deep/'), below('/', '/etc')]).toEqual(['', 'src/', 'src/deep/', 'etc/']);
  expect([below('/w', '/ws'), below('/w', '/'), below('/w', 'src'), below('/w', '/w/../etc')]).toEqual([null, null, null, null]);
});
