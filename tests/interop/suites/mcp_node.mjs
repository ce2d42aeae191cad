// Node.js MCP clients and proxies against `/mcp`, `/mcp/{server}` and `manyhands mcp`.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createMCPClient } from '@ai-sdk/mcp';
import { Client as Client2, StreamableHTTPClientTransport as Http2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema, ElicitRequestSchema, LoggingMessageNotificationSchema, ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';

import { BINARY, Gateway, INTEROP, cases, started } from '../gateway.mjs';

const MODULES = join(INTEROP, 'node/node_modules');
const EVERYTHING = join(MODULES, '@modelcontextprotocol/server-everything/dist/index.js');
const gateway = await Gateway.start(`
[[policy.rules]]
decision = "allow"

[mcpServers.everything]
command = "node"
args = ["${EVERYTHING}", "stdio"]
asks = true
`);
await gateway.request('POST', '/api/servers/everything/refresh');
const ALL = `${gateway.url}/mcp?profile=all`;
const ONE = `${gateway.url}/mcp/everything`;
const headers = { Authorization: `Bearer ${gateway.token}` };
const env = { ...process.env, MANYHANDS_HOME: gateway.home, MANYHANDS_TOKEN: gateway.token, MANYHANDS_URL: gateway.url };
const stdio = { command: BINARY, args: ['mcp', '--profile', 'all'], env };

/** Waits for a fact. */
async function until(what, holds) {
  for (const end = Date.now() + 60_000; !(await holds());) {
    assert.ok(Date.now() < end, `${what} did not happen`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Whether a program with this mark in its command line runs. */
function running(mark) {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).some((id) => {
    try {
      return readFileSync(`/proc/${id}/cmdline`, 'utf8').includes(mark);
    } catch {
      return false;
    }
  });
}

/** A machine that brings its tools until it is stopped. */
async function node() {
  const { body } = await gateway.request('POST', '/api/tokens', { name: 'laptop', role: 'node' });
  const folder = mkdtempSync(join(tmpdir(), 'manyhands-node-'));
  const settings = { ...process.env, MANYHANDS_HOME: folder, MANYHANDS_TOKEN: body.result.token };
  const child = spawn(BINARY, ['node', '--id', 'laptop', '--url', gateway.url, '--workspace', folder], { env: settings, stdio: 'ignore' });
  return () => new Promise((resolve) => {
    child.on('exit', () => {
      rmSync(folder, { recursive: true, force: true });
      resolve();
    });
    child.kill();
  });
}

/** Lists, calls, fails, is refused, and makes 20 calls at once. */
async function everyday(client) {
  const { tools } = await client.listTools();
  assert.ok(tools.some(({ name }) => name === 'gsv__WriteFile'));
  const call = (name, args) => client.callTool({ name, arguments: args });
  assert.ok(!(await call('gsv__WriteFile', { path: 'node.md', content: 'hällo' })).isError);
  assert.equal((await call('gsv__ReadFile', { path: 'node.md' })).structuredContent.content, 'hällo');
  assert.ok((await call('gsv__ReadFile', { path: 'nowhere.md' })).isError);
  await assert.rejects(call('gsv__Nothing', {}), ({ code }) => code === -32602);
  const many = await Promise.all(Array.from({ length: 20 }, () => call('gsv__ReadFile', { path: 'node.md' })));
  assert.ok(many.every(({ isError }) => !isError));
}

/** A call that is aborted ends. */
async function cancels(client, mark, call) {
  const stop = new AbortController();
  const args = { name: 'bash', arguments: { cmd: `exec -a ${mark} sleep 300`, timeout_seconds: 25 } };
  const done = call(client, args, { signal: stop.signal });
  done.catch(() => {});
  await until('it runs', () => running(mark));
  stop.abort();
  await assert.rejects(done);
  await until('it is gone', () => !running(mark));
}

const generations = [
  ['@modelcontextprotocol/sdk', '2025-11-25', () => new Client1({ name: 'a-stranger', version: '1' }),
    (url) => new Http1(new URL(url), { requestInit: { headers } }), () => new Stdio1(stdio),
    (client, args, options) => client.callTool(args, undefined, options)],
  ...['2025-11-25', '2026-07-28'].map((era) => ['@modelcontextprotocol/client', era,
    () => new Client2({ name: 'a-stranger', version: '1' }, { versionNegotiation: { mode: era === '2026-07-28' ? { pin: era } : 'legacy' } }),
    (url) => new Http2(new URL(url), { requestInit: { headers } }), () => new Stdio2(stdio),
    (client, args, options) => client.callTool(args, options)]),
];
for (const [name, era, make, http, pipe, call] of generations) {
  const one = cases(name);
  for (const [where, open] of [['HTTP', () => http(ALL)], ['standard streams', pipe]]) {
    await one(`${era}: lists, calls, fails and makes 20 calls at once over ${where}`, async () => {
      const client = make();
      await client.connect(open());
      await everyday(client);
      await client.close();
    });
    await one(`${era}: an aborted call ends over ${where}`, async () => {
      const client = make();
      await client.connect(open());
      await cancels(client, `node-${name.split('/')[1]}-${era}-${where.split(' ')[0]}`, call);
      await client.close();
    });
  }
}

const first = cases('@modelcontextprotocol/sdk');
await first('2025-11-25: is told that tools changed, and ends its session', async () => {
  const client = new Client1({ name: 'a-stranger', version: '1' });
  let told = 0;
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => { told += 1; });
  const transport = new Http1(new URL(ALL), { requestInit: { headers } });
  await client.connect(transport);
  assert.ok(transport.sessionId);
  await client.listTools();
  const stop = await node();
  await until('the tools came', () => told > 0);
  assert.ok((await client.listTools()).tools.some(({ name }) => name === 'laptop__Read'));
  const before = told;
  await stop();
  await until('the tools went', () => told > before);
  const session = transport.sessionId;
  await transport.terminateSession();
  await client.close();
  const again = await fetch(ALL, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-session-id': session },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
  });
  assert.equal(again.status, 404);
});

await first('2025-11-25: a server asks, logs and tells its progress through the gateway', async () => {
  const client = new Client1({ name: 'a-stranger', version: '1' }, { capabilities: { elicitation: {}, sampling: {} } });
  const logged = [];
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => { logged.push(params); });
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { name: 'Ada' } }));
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    role: 'assistant', model: 'scripted', content: { type: 'text', text: 'words of a model' },
  }));
  await client.connect(new Http1(new URL(ONE), { requestInit: { headers } }));
  const call = (name, args = {}, options) => client.callTool({ name, arguments: args }, undefined, options);
  assert.match(JSON.stringify(await call('trigger-elicitation-request')), /accept/);
  assert.match(JSON.stringify(await call('trigger-sampling-request', { prompt: 'hello', maxTokens: 10 })), /words of a model/);
  const steps = [];
  await call('trigger-long-running-operation', { duration: 1, steps: 2 }, { onprogress: (step) => steps.push(step) });
  assert.ok(steps.length >= 2);
  await client.setLoggingLevel('debug');
  await call('toggle-simulated-logging');
  await until('it logs', () => logged.length > 0);
  await client.close();
});

await cases('@ai-sdk/mcp')('loads tools and calls them at both paths', async () => {
  for (const [url, tool, args, words] of [
    [ALL, 'gsv__WriteFile', { path: 'ai.md', content: 'x' }, /ai\.md/],
    [ONE, 'echo', { message: 'hi' }, /Echo: hi/],
  ]) {
    const client = await createMCPClient({ transport: { type: 'http', url, headers } });
    const tools = await client.tools();
    const said = await tools[tool].execute(args, { toolCallId: '1', messages: [] });
    assert.match(JSON.stringify(said), words);
    await client.close();
  }
});

/** A proxy that speaks MCP over standard streams, used by the official client. */
async function behind(args) {
  const client = new Client1({ name: 'a-stranger', version: '1' });
  const quiet = { HOME: gateway.folder, MCP_REMOTE_CONFIG_DIR: join(gateway.folder, 'mcp-remote') };
  await client.connect(new Stdio1({ command: 'node', args, env: { ...process.env, ...quiet }, stderr: 'ignore' }));
  await everyday(client);
  await client.close();
}
await cases('mcp-remote')('carries /mcp to standard streams', () => behind([
  join(MODULES, 'mcp-remote/dist/proxy.js'), ALL, '--transport', 'http-only', '--allow-http', '--header', `Authorization:Bearer ${gateway.token}`,
]));
const supergateway = cases('supergateway');
const script = join(MODULES, 'supergateway/dist/index.js');
await supergateway('carries /mcp to standard streams', () => behind([
  script, '--streamableHttp', ALL, '--oauth2Bearer', gateway.token, '--logLevel', 'none',
]));
await supergateway('carries `manyhands mcp` to HTTP', async () => {
  const port = await new Promise((resolve) => {
    const free = createServer().listen(0, '127.0.0.1', () => {
      const taken = free.address().port;
      free.close(() => resolve(taken));
    });
  });
  const args = [script, '--stdio', `${BINARY} mcp --profile all`, '--outputTransport', 'streamableHttp', '--stateful', '--port', `${port}`];
  const proxy = await started('node', args, 'Listening on port', { env });
  try {
    const client = new Client1({ name: 'a-stranger', version: '1' });
    await client.connect(new Http1(new URL(`http://127.0.0.1:${port}/mcp`)));
    await everyday(client);
    await client.close();
  } finally {
    await proxy.stop();
  }
});

const inspector = cases('@modelcontextprotocol/inspector');
const inspect = (target, ...args) => {
  const all = [join(MODULES, '.bin/mcp-inspector'), '--cli', ...target, ...args];
  const ran = spawnSync('node', all, { encoding: 'utf8', timeout: 60_000, env });
  assert.equal(ran.status, 0, ran.stderr);
  return JSON.parse(ran.stdout);
};
const over = (url) => [url, '--transport', 'http', '--header', `Authorization: Bearer ${gateway.token}`];
const set = ['MANYHANDS_HOME', 'MANYHANDS_TOKEN', 'MANYHANDS_URL'].flatMap((name) => ['-e', `${name}=${env[name]}`]);
for (const [where, target, tool, argument, words] of [
  ['/mcp', over(ALL), 'gsv__ReadFile', 'path=node.md', /hällo/],
  ['/mcp/everything', over(ONE), 'echo', 'message=hi', /Echo: hi/],
  ['standard streams', [BINARY, 'mcp', ...set], 'capabilities_discover', 'request=read a file', /gsv__ReadFile/],
]) {
  await inspector(`lists and calls at ${where}`, async () => {
    assert.ok(inspect(target, '--method', 'tools/list').tools.some(({ name }) => name === tool));
    const said = inspect(target, '--method', 'tools/call', '--tool-name', tool, '--tool-arg', argument);
    assert.match(JSON.stringify(said), words);
  });
}

await gateway.stop();
process.exit(0);
