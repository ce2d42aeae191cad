// What a stranger's client sees of one server through a gateway, as JSON on standard output.
//
//   node pass.mjs SDK ERA URL TOKEN SERVER PLAN
//
// PLAN is JSON: a list of [what, ...with]. What there is to do stands in `deeds`. Where ANSWER_WHEN names a file in the environment, questions are
// noted in FILE.asked and answered once there is that file.

import { appendFileSync, existsSync } from 'node:fs';

import { strangers } from './sdk.mjs';

const [sdk, era, url, token, server, plan] = process.argv.slice(2);
const { newClient, open } = await strangers(sdk, era, 'http', url, `/mcp/${server}`);
const client = newClient({ capabilities: { elicitation: {}, sampling: {}, roots: {} } });
const told = [];

/** Has the client answer a server's question. */
async function answers(method, schema, reply) {
  if (sdk === 'v2') return client.setRequestHandler(method, reply);
  const types = await import('@modelcontextprotocol/sdk/types.js');
  return client.setRequestHandler(types[schema], reply);
}

/** Has the client note what a server tells. */
async function hears(method, schema) {
  const note = ({ method: name, params }) => { told.push({ method: name, params }); };
  if (sdk === 'v2') return client.setNotificationHandler(method, note);
  const types = await import('@modelcontextprotocol/sdk/types.js');
  return client.setNotificationHandler(types[schema], note);
}

/** Comes when questions may be answered. */
async function thoughtAbout(file) {
  if (!file) return;
  appendFileSync(`${file}.asked`, 'asked\n');
  while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 20));
}

await answers('elicitation/create', 'ElicitRequestSchema', async ({ params }) => {
  await thoughtAbout(process.env.ANSWER_WHEN);
  const names = Object.keys(params.requestedSchema?.properties ?? {});
  return { action: 'accept', content: Object.fromEntries(names.map((name) => [name, `my ${name}`])) };
});
await answers('sampling/createMessage', 'CreateMessageRequestSchema', ({ params }) => ({
  model: 'a-model', role: 'assistant', content: { type: 'text', text: `you said ${params.messages[0].content.text}` },
}));
await answers('roots/list', 'ListRootsRequestSchema', () => ({ roots: [{ uri: 'file:///here', name: 'here' }] }));
await hears('notifications/tools/list_changed', 'ToolListChangedNotificationSchema');
await hears('notifications/message', 'LoggingMessageNotificationSchema');

const deeds = {
  tools: async () => (await client.listTools()).tools.map((tool) => tool.name),
  tool: async (name) => (await client.listTools()).tools.find((tool) => tool.name === name),
  call: (name, args = {}) => client.callTool({ name, arguments: args }),
  progress: async (name, args = {}) => {
    const steps = [];
    const options = { onprogress: (step) => steps.push(step) };
    const request = { name, arguments: args };
    const result = await (sdk === 'v1' ? client.callTool(request, undefined, options) : client.callTool(request, options));
    return { steps, result };
  },
  cancel: async (name, args = {}) => {
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 300);
    const request = { name, arguments: args };
    const options = { signal: stop.signal };
    const done = sdk === 'v1' ? client.callTool(request, undefined, options) : client.callTool(request, options);
    return done.then(() => 'finished', () => 'cancelled');
  },
  resources: async () => (await client.listResources()).resources.map((resource) => resource.uri),
  templates: async () => (await client.listResourceTemplates()).resourceTemplates.map((template) => template.uriTemplate),
  read: (uri) => client.readResource({ uri }),
  prompts: async () => (await client.listPrompts()).prompts.map((prompt) => prompt.name),
  prompt: (name, args) => client.getPrompt({ name, arguments: args }),
  level: (level) => client.setLoggingLevel(level),
  complete: (ref, argument) => client.complete({ ref, argument }),
};

await client.connect(open(token));
const seen = [];
for (const [what, ...rest] of JSON.parse(plan)) {
  try {
    seen.push({ value: await deeds[what](...rest) });
  } catch (error) {
    seen.push({ error: String(error.message ?? error), code: error.code });
  }
}
process.stdout.write(JSON.stringify({ server: client.getServerVersion(), seen, told }), () => process.exit(0));
