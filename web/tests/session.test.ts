import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

let stored: Map<string, string>;
const storage = () => ({ getItem: (key: string) => stored.get(key) ?? null, setItem: (key: string, text: string) => void stored.set(key, text), removeItem: (key: string) => void stored.delete(key) });
const replaced: string[] = [];

/** The module as a page has it that was opened at this address. */
async function openedAt(address: string) {
  vi.resetModules();
  const { pathname, hash } = new URL(address, 'http://127.0.0.1:7717');
  vi.stubGlobal('location', { pathname, hash });
  return import('../src/lib/session');
}

beforeEach(() => {
  stored = new Map();
  replaced.length = 0;
  vi.stubGlobal('localStorage', storage());
  vi.stubGlobal('history', { replaceState: (_: unknown, __: string, to: string) => replaced.push(to) });
});
afterEach(() => vi.unstubAllGlobals());

describe('the token of the session', () => {
  it('is there for other tabs and after a reload', async () => {
    (await openedAt('/')).keepToken('one');
    expect((await openedAt('/')).token()).toBe('one');
  });
  it('is forgotten once it is invalid, but not when another tab has replaced it', async () => {
    const { forgetToken, keepToken, token } = await openedAt('/');
    keepToken('one');
    stored.set([...stored.keys()][0] ?? '', 'two');
    forgetToken('one');
    forgetToken(null);
    expect(token()).toBe('two');
    forgetToken('two');
    expect(token()).toBeNull();
    expect(stored.size).toBe(0);
  });
  it('stays in memory where a browser stores nothing', async () => {
    const { forgetToken, keepToken, token } = await openedAt('/');
    const full = () => {
      throw new Error('no room');
    };
    for (const refusing of [undefined, { ...storage(), setItem: full }]) {
      vi.stubGlobal('localStorage', refusing);
      expect(token()).toBeNull();
      keepToken('one');
      expect(token()).toBe('one');
      forgetToken('one');
      expect(token()).toBeNull();
    }
  });
});

describe('the code of a login link', () => {
  it('is taken out of the address at once', async () => {
    expect((await openedAt('/login#code=abc123')).openedWith).toBe('abc123');
    expect(replaced).toEqual(['/']);
  });
  it('is looked for in login links only', async () => {
    for (const address of ['/', '/#code=abc', '/#/chat?code=abc']) expect((await openedAt(address)).openedWith).toBe('');
    expect(replaced).toEqual([]);
    for (const address of ['/login', '/login?code=abc', '/login#/chat']) expect((await openedAt(address)).openedWith).toBe('');
  });
  it('is found in whatever was pasted', async () => {
    const { codeIn } = await openedAt('/');
    for (const pasted of ['abc', ' abc\n', 'http://127.0.0.1:7717/login#code=abc', '/login#code=abc (works once)', 'https://hands.example/login?code=abc&x=1']) expect(codeIn(pasted)).toBe('abc');
  });
});

describe('requests', () => {
  const sent: { url: string; headers: Record<string, string>; credentials: string }[] = [];
  let status = 200;
  beforeEach(() => {
    sent.length = 0;
    status = 200;
    vi.stubGlobal('fetch', (url: string, { headers, credentials }: { headers: Record<string, string>; credentials: string }) => {
      sent.push({ url, headers, credentials });
      return Promise.resolve(new Response(JSON.stringify({ ok: status === 200, result: { token: 'new' } }), { status }));
    });
  });

  it('carry the token themselves, and nothing that a browser adds', async () => {
    const { keepToken } = await openedAt('/');
    const { blob, get } = await import('../src/lib/http');
    await get('/api/session');
    keepToken('one');
    await get('/api/session');
    await blob('/api/artifacts/a');
    expect(sent.map((one) => one.headers.authorization)).toEqual([undefined, 'Bearer one', 'Bearer one']);
    expect(new Set(sent.map((one) => one.credentials))).toEqual(new Set(['omit']));
  });
  it('of a login show no token, and end the session before it', async () => {
    const { keepToken, token } = await openedAt('/');
    const { logIn } = await import('../src/lib/login');
    keepToken('old');
    await logIn('code');
    expect(sent.map((one) => [one.url, one.headers.authorization])).toEqual([['/api/session/login', undefined], ['/api/session/logout', 'Bearer old']]);
    expect(token()).toBe('new');
  });
  it('of a login that fails leave the session as it is', async () => {
    const { keepToken, token } = await openedAt('/');
    const { logIn } = await import('../src/lib/login');
    const { whenLoggedOut } = await import('../src/lib/http');
    const out = vi.fn();
    whenLoggedOut(out);
    keepToken('old');
    status = 401;
    await expect(logIn('code')).rejects.toMatchObject({ status: 401 });
    expect(token()).toBe('old');
    expect(out).not.toHaveBeenCalled();
  });
});
