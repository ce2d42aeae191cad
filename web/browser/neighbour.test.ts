// Another server on the same machine, on another port of 127.0.0.1: the browser visits it, and whatever it receives opens
// nothing at the gateway. Cookies do not know ports, so a session that was a cookie would be sent to it.

import { createServer, request, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SESSION, house } from './visit';
import { connected, enter } from './words';

const here = house();

type Heard = { url: string; headers: IncomingHttpHeaders; body: string };

/** A server that keeps everything it is sent, and sets cookies for the whole host. */
class Neighbour {
  readonly heard: Heard[] = [];
  readonly #server: Server;
  constructor(readonly name: string) {
    this.#server = createServer((asked, answer) => {
      let body = '';
      asked.on('data', (piece: Buffer) => (body += piece.toString()));
      asked.on('end', () => {
        this.heard.push({ url: asked.url ?? '', headers: asked.headers, body });
        answer.setHeader('set-cookie', [`${this.name}=here; Path=/`, 'manyhands=planted; Path=/', 'manyhands=planted; Path=/api']);
        answer.setHeader('content-type', 'text/html');
        answer.end('<!doctype html><title>next door</title>');
      });
    });
  }
  start = () => new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done));
  stop = () => new Promise((done) => this.#server.close(done));
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }
}

const next = new Neighbour('next');
const third = new Neighbour('third');
beforeAll(() => Promise.all([next.start(), third.start()]));
afterAll(() => Promise.all([next.stop(), third.stop()]));

/** Sends exactly these headers, as no browser would let a page do. */
function replay(method: string, path: string, headers: IncomingHttpHeaders): Promise<number> {
  const { host, port } = new URL(here.gateway.url);
  return new Promise((done, fail) => {
    const sent = request({ host: '127.0.0.1', port, method, path, headers: { ...headers, host } }, (answer) => {
      answer.resume();
      done(answer.statusCode ?? 0);
    });
    sent.on('error', fail);
    sent.end(method === 'GET' ? undefined : '{}');
  });
}

const ROUTES: [method: string, path: string][] = [
  ['GET', '/api/session'],
  ['GET', '/api/tools'],
  ['GET', '/api/tokens'],
  ['GET', '/api/config'],
  ['GET', '/api/secrets'],
  ['GET', '/api/audit'],
  ['GET', '/api/artifacts'],
  ['GET', '/api/openapi.json'],
  ['GET', '/metrics'],
  ['GET', '/v1/models'],
  ['POST', '/api/tokens'],
  ['POST', '/api/session/link'],
  ['POST', '/api/session/logout'],
  ['POST', '/api/tools/gsv__WriteFile'],
  ['POST', '/api/chat'],
  ['POST', '/v1/chat/completions'],
  ['POST', '/mcp'],
  ['POST', '/mcp/any'],
];

test('a server on another port gets nothing of the session, and what it gets opens nothing', async () => {
  const visitor = await here.stranger();
  const page = await visitor.context.newPage();
  await enter(page, await here.gateway.loginLink());
  await connected(page).waitFor();
  const token = (await page.evaluate((key) => localStorage.getItem(key), SESSION)) ?? '';
  expect(token.length).toBeGreaterThan(40);
  expect(await visitor.context.cookies()).toEqual([]);

  // A visit, requests with everything that the browser adds by itself, and a way there from the page.
  const there = await visitor.context.newPage();
  for (const one of [next, third]) {
    await there.goto(`${one.url}/visit`);
    await there.evaluate(async () => {
      await fetch('/fetch', { credentials: 'include', method: 'POST', body: 'x' });
      await new Promise((done) => Object.assign(new Image(), { onload: done, onerror: done, src: '/image' }));
    });
  }
  const leaving = await visitor.open('usage');
  await connected(leaving).waitFor();
  await leaving.evaluate((to) => location.assign(to), `${next.url}/led`);
  await leaving.waitForURL(/led$/);
  expect(await there.evaluate(() => [document.cookie.includes('manyhands=planted'), localStorage.length])).toEqual([true, 0]);
  const heard = [...next.heard, ...third.heard];
  expect(heard.map((one) => one.url)).toEqual(expect.arrayContaining(['/visit', '/fetch', '/image', '/led']));
  // The control: cookies of one port are sent to another.
  expect(third.heard[0]?.headers.cookie).toContain('next=here');
  expect(JSON.stringify(heard)).not.toContain(token.slice(-20));
  expect(heard.find((one) => one.url === '/led')?.headers.referer).toBeUndefined();

  // What it got, sent to the gateway by a program that claims to be the page.
  const tokens = async () => (await here.gateway.get<{ tokens: { id: string; state: string }[] }>('/api/tokens')).tokens.map((one) => `${one.id} ${one.state}`);
  const before = await tokens();
  const claims = [{}, { origin: here.gateway.url, referer: `${here.gateway.url}/`, 'sec-fetch-site': 'same-origin' }];
  for (const { headers } of heard) {
    const kept = { ...headers };
    delete kept['content-length'];
    delete kept.origin;
    for (const claim of claims) {
      for (const [method, path] of ROUTES) expect(await replay(method, path, { ...kept, 'content-type': 'application/json', ...claim }), `${method} ${path}`).toBe(401);
    }
  }
  expect(await tokens()).toEqual(before);
  // The control: the same request with what only the page has.
  expect(await replay('GET', '/api/tokens', { ...heard[0]?.headers, authorization: `Bearer ${token}` })).toBe(200);

  // A page of the neighbour's cannot use the browser either.
  const tried = await there.evaluate(async (gateway) => {
    const asked = await fetch(`${gateway}/api/session`, { credentials: 'include' }).then(() => 'answered', () => 'refused');
    const socket = await new Promise((done) => {
      const wire = new WebSocket(`${gateway.replace('http', 'ws')}/ws`);
      wire.onopen = () => done('opened');
      wire.onerror = () => done('refused');
    });
    return { asked, socket };
  }, here.gateway.url);
  expect(tried).toEqual({ asked: 'refused', socket: 'refused' });

  // Cookies that it planted change nothing for the page.
  visitor.trouble.length = 0;
  visitor.asked.splice(0);
  await page.reload();
  await connected(page).waitFor();
  await (await visitor.open('tools')).getByRole('heading', { level: 1, name: 'Tools' }).waitFor();
});
