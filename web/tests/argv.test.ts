import { expect, it } from 'vitest';
import { variables, words } from '../src/lib/argv';

it.each([
  ['npx -y @scope/server ~/notes', ['npx', '-y', '@scope/server', '~/notes']],
  [`run 'a b' "c \\"d\\" $e" f\\ g ''`, ['run', 'a b', 'c "d" $e', 'f g', '']],
  ['  spaced\tout  ', ['spaced', 'out']],
  ['', []],
  ["open 'quote", null],
])('the words of %j', (line, expected) => expect(words(line)).toEqual(expected));

it('variables are read line by line', () => {
  expect(variables('A=1\n\n# comment\nexport TOKEN="a b"\nURL=http://x/?a=b')).toEqual({ A: '1', TOKEN: 'a b', URL: 'http://x/?a=b' });
  expect(variables('no variable')).toBeNull();
});
