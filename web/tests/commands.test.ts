import { beforeAll, describe, expect, it, vi } from 'vitest';
import type { Command, found as Found } from '../src/lib/commands';

let found: typeof Found;
let settingsIn: (typeof import('../src/lib/commands'))['settingsIn'];
beforeAll(async () => {
  const none = { addEventListener: () => undefined, querySelectorAll: () => [], documentElement: { dataset: {} } };
  vi.stubGlobal('document', none);
  vi.stubGlobal('window', none);
  vi.stubGlobal('location', { hash: '', host: 'here', pathname: '/' });
  ({ found, settingsIn } = await import('../src/lib/commands'));
});

const command = (id: string, group: string, title: string, about = ''): Command => ({ id, group, icon: '', title, about, act: () => undefined });
const all = () => [command('a1', 'Actions', 'Create token'), command('a2', 'Actions', 'New chat'), command('p1', 'Pages', 'Tokens page'), command('t1', 'Tools', 'token_count', 'Counts tokens'), command('c1', 'Conversations', 'About tea')];
const shown = (groups: { name: string; commands: Command[] }[]) => groups.map((group) => `${group.name}: ${group.commands.map((one) => one.id).join(' ')}`);

describe('the palette', () => {
  it('shows what was used last first, and nothing twice', () => {
    expect(shown(found('', all(), [], ['p1', 'gone']))).toEqual(['Recent: p1', 'Actions: a1 a2', 'Conversations: c1']);
  });
  it('groups what fits, the group with the best first', () => {
    expect(shown(found('token', all(), [], []))).toEqual(['Tools: t1', 'Actions: a1', 'Pages: p1']);
  });
  it('puts messages and help after what is named so', () => {
    const searched = [command('m1', 'Messages', 'a token was made'), command('h1', 'Help', 'Tokens')];
    expect(shown(found('chat', all(), searched, []))).toEqual(['Actions: a2', 'Messages: m1', 'Help: h1']);
  });
});

it('lists every single setting of a schema', () => {
  const schema = { properties: { models: { properties: { default: { type: 'string' }, retry: { $ref: '#/$defs/Retry' } } }, url: { type: 'string' } }, $defs: { Retry: { type: 'object', properties: { times: { type: 'integer' } } } } };
  expect(settingsIn(schema).map((keys) => keys.join('.'))).toEqual(['models.default', 'models.retry.times', 'url']);
});
