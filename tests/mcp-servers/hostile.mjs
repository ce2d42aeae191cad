// A server of the old era over stdio that can be told to misbehave, without any SDK.
//
//   node hostile.mjs [mute | brittle]
//
// mute says nothing to what it does not know; brittle ends when not greeted first.

import readline from 'node:readline';

const manner = process.argv[2];
const write = (text) => process.stdout.write(text);
const send = (message) => write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const text = (value) => ({ content: [{ type: 'text', text: value }] });
const tools = ['echo', 'silence'].map((name) => ({ name, description: 'does what it says', inputSchema: { type: 'object' } }));
const asked = new Map();
const cancelled = [];
let pings = 0;
let greeted = false;

/** Asks the client, and gives its answer. */
function ask(method, params) {
  const id = `q${asked.size}`;
  send({ id, method, params });
  return new Promise((resolve) => asked.set(id, resolve));
}

const behaviours = {
  echo: (args, params) => ({ ...text(JSON.stringify(args)), _meta: params._meta, unheardOf: { kept: true }, content: [{ type: 'hologram', depth: 3 }] }),
  silence: () => new Promise(() => {}),
  garbage: () => {
    write('Welcome to my server!\n{"broken\n\n[]\n7\nnull\n"text"\n');
    write(`{"id":1,"result":${'['.repeat(100000)}\n`);
    process.stdout.write(Buffer.from([0xff, 0xfe, 0x00, 0x0a]));
    return text('still here');
  },
  huge: () => text('x'.repeat(100 * 1024 * 1024)),
  endless: () => new Promise(() => {
    const more = () => { while (process.stdout.write('x'.repeat(1024 * 1024))); };
    process.stdout.on('drain', more);
    more();
  }),
  die: () => { process.stderr.write('I cannot go on\n'); process.exit(3); },
  grow: () => {
    tools.push({ name: `grown_${tools.length}`, inputSchema: { type: 'object' } });
    send({ method: 'notifications/tools/list_changed' });
    return text('grown');
  },
  elicit: async () => text(JSON.stringify(await ask('elicitation/create', { message: 'name?', requestedSchema: { type: 'object' } }))),
  sample: async () => text(JSON.stringify(await ask('sampling/createMessage', { messages: [], maxTokens: 5 }))),
  unknown: async () => text(JSON.stringify(await ask('secrets/list', {}))),
  twice: (args, params, id) => {
    send({ id: 424242, result: text('nobody asked') });
    send({ id: 'other', error: { code: 1, message: 'nobody asked' } });
    send({ id, result: text('first') });
    return text('second');
  },
  flood: () => {
    for (let n = 0; n < 50000; n += 1) send({ method: 'notifications/message', params: { level: 'info', data: n } });
    for (let n = 0; n < 5000; n += 1) send({ id: `p${n}`, method: 'ping' });
    return text('flooded');
  },
  steps: (args, params) => {
    for (let progress = 1; progress <= 3; progress += 1) {
      send({ method: 'notifications/progress', params: { progressToken: params._meta?.progressToken, progress } });
    }
    send({ method: 'notifications/progress', params: { progressToken: 'not yours', progress: 99 } });
    return text('done');
  },
  cancelled: () => text(JSON.stringify(cancelled)),
  pings: () => text(String(pings)),
  pid: () => text(String(process.pid)),
  deaf: () => { setInterval(() => {}, 1000); input.pause(); return text('deaf'); },
};

async function answer({ id, method, params = {} }) {
  switch (method) {
    case 'initialize':
      greeted = true;
      return { protocolVersion: params.protocolVersion, capabilities: { tools: { listChanged: true }, offered: params.capabilities }, serverInfo: { name: 'hostile', version: '0' } };
    case 'ping': pings += 1; return {};
    case 'tools/list': {
      const at = Number(params.cursor ?? 0);
      if (process.env.ENDLESS_LIST) return { tools, nextCursor: String(at + 1) };
      return { tools: tools.slice(at, at + 1), ...(at + 1 < tools.length && { nextCursor: String(at + 1) }) };
    }
    case 'tools/call': {
      const behaviour = behaviours[params.name];
      if (behaviour) return behaviour(params.arguments, params, id);
      throw { code: -32602, message: `no tool ${params.name}` };
    }
    default:
      if (manner === 'brittle' && !greeted) process.exit(1);
      if (manner === 'mute') return new Promise(() => {});
      throw { code: -32601, message: `no method ${method}` };
  }
}

const input = readline.createInterface({ input: process.stdin });
input.on('line', (line) => {
  const message = JSON.parse(line);
  if (message.method === undefined) asked.get(message.id)?.(message.result ?? message.error);
  else if (message.id === undefined) {
    if (message.method === 'notifications/cancelled') cancelled.push(message.params.requestId);
  } else {
    Promise.resolve().then(() => answer(message)).then(
      (result) => send({ id: message.id, result }),
      (error) => send({ id: message.id, error }),
    );
  }
});
input.on('close', () => process.exit(0));
