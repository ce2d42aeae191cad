import { describe, expect, it } from 'vitest';
import { commandsIn, completed, isCommand } from '../src/pages/chat/commands';
import { NOTHING, grown, printed } from '../src/pages/chat/growing';

describe('a text that comes in pieces', () => {
  it('is the same whether a piece comes before or after what was fetched', () => {
    const fetched = { text: 'one two', from: 0 };
    expect(grown(fetched, 'two', 4), 'it was in it').toEqual({ ...fetched, gap: false });
    expect(grown(fetched, 'two three', 4)).toEqual({ text: 'one two three', from: 0, gap: false });
    expect(grown(fetched, ' three', 7)).toEqual({ text: 'one two three', from: 0, gap: false });
    expect(grown(fetched, 'one', 0).text).toBe('one two');
  });
  it('says when something is missing, once', () => {
    const late = grown(NOTHING, 'the end', 90);
    expect(late).toEqual({ text: 'the end', from: 90, gap: true });
    expect(grown(late, '.', 97)).toEqual({ text: 'the end.', from: 90, gap: false });
  });
  it('counts as the gateway does, pairs twice', () => {
    expect(grown({ text: 'a😀', from: 0 }, 'b', 3)).toEqual({ text: 'a😀b', from: 0, gap: false });
  });
  it('is put together in its order where nobody says where a piece stands', () => expect(grown({ text: 'a', from: 0 }, 'b').text).toBe('ab'));
});

describe('what a running tool prints', () => {
  it('is kept to its end', () => {
    expect(printed({ text: 'a', from: 0 }, 'b', 1)).toEqual({ text: 'ab', from: 0 });
    const much = printed({ text: 'x'.repeat(19_999), from: 1 }, 'the end', 20_000);
    expect(much.text).toHaveLength(20_000);
    expect(much.text.endsWith('the end')).toBe(true);
    expect(much.from + much.text.length).toBe(20_007);
  });
  it('is not doubled, and goes on after what was left out', () => {
    const before = { text: 'one\n', from: 0 };
    expect(printed(before, 'one\n', 0)).toEqual(before);
    const after = printed(before, 'three\n', 8);
    expect(after.text).toBe('one\nthree\n');
    expect(after.from + after.text.length).toBe(14);
  });
});

describe('slash commands', () => {
  const help = '/new - begin anew\n/model [PROVIDER/MODEL|default] - show or choose\n/t:LEVEL and /m:PROVIDER/MODEL before a message - for that message only';
  it('are read from what the gateway lists', () => {
    expect(commandsIn(help)).toEqual([
      { name: 'new', about: 'begin anew' },
      { name: 'model', about: '[PROVIDER/MODEL|default] - show or choose' },
      { name: 't:', about: 'LEVEL for that message only' },
      { name: 'm:', about: 'PROVIDER/MODEL for that message only' },
    ]);
  });
  it('complete to what works', () => expect([completed('model'), completed('t:')]).toEqual(['/model ', '/t:']));
  it('are told from messages', () => {
    for (const one of ['/new', '/model x/y', ' /Status']) expect(isCommand(one)).toBe(true);
    for (const one of ['/t:high think', '/m:a/b go', '/usr/bin is full', 'hello', '/']) expect(isCommand(one)).toBe(false);
  });
});
