import { describe, expect, it } from 'vitest';
import { loopback, nodeCommand, systemName, type Wish } from '../src/lib/nodes';

const plain: Wish = { system: 'installed', url: 'https://hands.example', code: 'join-abc', service: false, sandbox: 'off', workspace: '', terminal: false };

describe('the command that connects a machine', () => {
  it.each([
    [{}, 'manyhands node --url https://hands.example --code join-abc'],
    [{ system: 'npm' }, 'npx manyhands node --url https://hands.example --code join-abc'],
    [{ service: true, workspace: '~/my work' }, "manyhands node install --url https://hands.example --code join-abc --workspace ~/'my work'"],
    [{ sandbox: 'read-only', terminal: true, workspace: '/srv' }, 'manyhands node --url https://hands.example --code join-abc --workspace /srv --sandbox read-only --terminal'],
    [{ url: 'https://x/?a=1;rm' }, "manyhands node --url 'https://x/?a=1;rm' --code join-abc"],
  ] as [Partial<Wish>, string][])('%j is %s', (wish, command) => expect(nodeCommand({ ...plain, ...wish })).toBe(command));
  it('installs the program first where it is missing', () => expect(nodeCommand({ ...plain, system: 'linux' })).toMatch(/^curl .*install\.sh \| sh && ~\/\.local\/bin\/manyhands node --url/));
});

it('an address of its own machine is known', () => {
  for (const url of ['http://127.0.0.1:7717', 'http://localhost:7717', 'http://[::1]:7717']) expect(loopback(url), url).toBe(true);
  for (const url of ['https://hands.example', 'http://192.168.1.5:7717', 'nonsense']) expect(loopback(url), url).toBe(false);
});

it('systems have their usual names', () => {
  expect([systemName('linux-x64'), systemName('darwin-arm64'), systemName('plan9')]).toEqual(['Linux (x64)', 'macOS (arm64)', 'plan9']);
});
