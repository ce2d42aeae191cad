// WebSocket clients on /ws: npm `ws`, and `undici`, whose WebSocket is that of Node.js itself.

import { Gateway, cases } from '../gateway.mjs';
import { WebSocket as Undici } from 'undici';
import WS from 'ws';

const PIPELINED = 2_000;

const request = (id, method, params = {}) => JSON.stringify({ type: 'req', id, method, params });
const readFile = (id) => request(id, 'tool.invoke', { tool: 'gsv__ReadFile', args: { path: 'note.md' } });

function expect(seen, wanted, what = 'value') {
  if (seen !== wanted) throw new Error(`${what} is ${JSON.stringify(seen)}, not ${JSON.stringify(wanted)}`);
}

/** A socket, its messages in order, and its end. Both packages have the interface of browsers. */
async function open(WebSocket, url) {
  const socket = new WebSocket(url);
  const queue = [];
  let wake = () => {};
  socket.addEventListener('message', (event) => {
    queue.push(JSON.parse(event.data));
    wake();
  });
  const closed = new Promise((resolve) => socket.addEventListener('close', resolve));
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', (event) => reject(event.error ?? new Error('no socket')));
  });
  const next = async () => {
    while (queue.length === 0) await new Promise((resolve) => (wake = resolve));
    return queue.shift();
  };
  const answer = async (id) => {
    for (;;) {
      const frame = await next();
      if (frame.type === 'res' && frame.id === id) return frame;
    }
  };
  return { socket, next, answer, closed };
}

async function suite(one, WebSocket, gateway) {
  const url = `${gateway.url.replace('http', 'ws')}/ws`;
  const login = async (token = gateway.token) => {
    const peer = await open(WebSocket, url);
    const client = { id: 'interop', version: '1', platform: 'test', mode: 'client' };
    peer.socket.send(request('connect', 'connect', { minProtocol: 1, maxProtocol: 1, client, auth: { token } }));
    expect((await peer.answer('connect')).payload.type, 'hello-ok');
    return peer;
  };

  await one('logs in and calls a tool', async () => {
    const peer = await login();
    peer.socket.send(readFile('1'));
    expect((await peer.answer('1')).payload.result.content, 'a note\n');
    peer.socket.close();
  });
  await one('gets an answer to each of 2,000 pipelined requests', async () => {
    const peer = await login();
    const missing = new Set();
    for (let at = 0; at < PIPELINED; at += 1) {
      missing.add(String(at));
      peer.socket.send(readFile(String(at)));
    }
    while (missing.size > 0) {
      const frame = await peer.next();
      if (frame.type !== 'res') continue;
      expect(frame.ok, true, JSON.stringify(frame));
      expect(missing.delete(frame.id), true, `one answer to ${frame.id}`);
    }
    peer.socket.close();
  });
  await one('sends and receives a large message', async () => {
    const peer = await login();
    peer.socket.send(request('w', 'workspace.write', { path: 'large.md', content: 'größe '.repeat(400_000) }));
    expect((await peer.answer('w')).ok, true);
    peer.socket.close();
  });
  await one('closes cleanly, and its code comes back', async () => {
    const peer = await login();
    peer.socket.close(4321, 'done');
    const end = await peer.closed;
    expect(end.code, 4321);
    expect(end.wasClean, true);
  });
  await one('closes cleanly before login', async () => {
    const peer = await open(WebSocket, url);
    peer.socket.close(1000);
    const end = await peer.closed;
    expect(end.code, 1000);
    expect(end.wasClean, true);
  });
  await one('is closed with 1003 for a binary message', async () => {
    const peer = await login();
    peer.socket.send(new Uint8Array([1, 2, 3, 4, 5]));
    const end = await peer.closed;
    expect(end.code, 1003);
    expect(end.wasClean, true);
  });
  await one('is closed with 4001 when its token is revoked', async () => {
    const name = `guest-${Math.trunc(Math.random() * 1e9)}`;
    const made = (await gateway.request('POST', '/api/tokens', { name, role: 'client' })).body.result;
    const peer = await login(made.token);
    expect((await gateway.request('DELETE', `/api/tokens/${made.record.id}`)).status, 200);
    expect((await peer.closed).code, 4001);
  });
}

const gateway = await Gateway.start();
try {
  await gateway.call('gsv__WriteFile', { path: 'note.md', content: 'a note\n' });
  const ws = cases('ws');
  await suite(ws, WS, gateway);
  await ws('gets pongs before and after login', async () => {
    const peer = await open(WS, `${gateway.url.replace('http', 'ws')}/ws`);
    const pong = new Promise((resolve) => peer.socket.once('pong', resolve));
    peer.socket.ping('there?');
    expect(String(await pong), 'there?');
    peer.socket.close();
  });
  await suite(cases('undici'), Undici, gateway);
} finally {
  await gateway.stop();
}
