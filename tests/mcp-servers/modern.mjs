// A server of 2026-07-28 by the official SDK.
//
//   node modern.mjs stdio          the modern era only
//   node modern.mjs stdio both     both eras
//   node modern.mjs http           prints the port it listens on

import http from 'node:http';
import { Readable } from 'node:stream';
import { McpServer, createMcpHandler, fromJsonSchema, inputRequired, inputResponse } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const [transport, eras] = process.argv.slice(2);
const text = (value) => ({ content: [{ type: 'text', text: value }] });
const schema = (properties, required = []) => fromJsonSchema({ type: 'object', properties, required });
let grown = 0;
let tell = {};

function server() {
  const server = new McpServer(
    { name: 'modern', version: '1.0.0' },
    {
      capabilities: { tools: { listChanged: true }, resources: { listChanged: true, subscribe: true }, prompts: {}, logging: {} },
      instructions: 'Use it well.',
    },
  );
  server.registerTool('echo', { description: 'Echoes', inputSchema: schema({ message: { type: 'string' } }, ['message']) },
    async ({ message }) => ({ ...text(message), _meta: { 'example.com/kept': 7 } }));
  server.registerTool('deploy', { description: 'Asks first', inputSchema: schema({ to: { type: 'string' } }) },
    async ({ to }, ctx) => {
      const answer = inputResponse(ctx.mcpReq.inputResponses, 'confirm');
      if (answer.kind === 'missing') {
        return inputRequired({
          inputRequests: {
            confirm: inputRequired.elicit({
              message: `Deploy to ${to}?`,
              requestedSchema: { type: 'object', properties: { yes: { type: 'boolean' } } },
            }),
          },
          requestState: `state of ${to}`,
        });
      }
      return text(`${answer.action} ${JSON.stringify(answer.content ?? {})} ${ctx.mcpReq.requestState()}`);
    });
  if (eras === 'both') {
    // What only the older era can do: ask and log of its own accord.
    server.registerTool('push', { description: 'Asks and logs while it works' }, async (ctx) => {
      try {
        const person = await ctx.mcpReq.elicitInput({
          message: 'Who?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
        });
        const model = await ctx.mcpReq.requestSampling({
          messages: [{ role: 'user', content: { type: 'text', text: 'hello' } }], maxTokens: 5,
        });
        await ctx.mcpReq.log('warning', 'it was asked');
        return text(`${person.content.name}, ${model.content.text}`);
      } catch (error) {
        return { ...text(`not in this era: ${error.message}`), isError: true };
      }
    });
  }
  server.registerTool('endless', { description: 'Never has enough' },
    async () => inputRequired({ inputRequests: { more: inputRequired.listRoots() } }));
  server.registerTool('region', {
    description: 'Wants an argument repeated',
    inputSchema: schema({ region: { type: 'string', 'x-mcp-header': 'Region' } }, ['region']),
  }, async ({ region }) => text(`in ${region}`));
  server.registerTool('steps', { description: 'Tells its progress' }, async (ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    for (let progress = 1; progress <= 3; progress += 1) {
      await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 3 } });
    }
    return text('done');
  });
  server.registerTool('grow', { description: 'Brings another tool' }, async () => {
    grown += 1;
    tell.tools?.();
    if (transport === 'stdio') server.registerTool(`grown_${grown}`, { description: 'New' }, async () => text('new'));
    return text('grown');
  });
  server.registerTool('touch', { description: 'Changes the note' }, async () => {
    tell.updated?.('note://one');
    if (transport === 'stdio') await server.server.sendResourceUpdated({ uri: 'note://one' });
    return text('touched');
  });
  for (let one = 1; one <= grown; one += 1) {
    if (transport === 'http') server.registerTool(`grown_${one}`, { description: 'New' }, async () => text('new'));
  }
  server.registerResource('note', 'note://one', { description: 'A note' },
    async (uri) => ({ contents: [{ uri: uri.href, text: 'noted' }] }));
  server.registerPrompt('hello', { description: 'Says hello' },
    async () => ({ messages: [{ role: 'user', content: { type: 'text', text: 'hello' } }] }));
  return server;
}

if (transport === 'stdio') {
  serveStdio(server, { legacy: eras === 'both' ? 'serve' : 'reject' });
} else {
  const handler = createMcpHandler(server);
  tell = { tools: () => handler.notify.toolsChanged(), updated: (uri) => handler.notify.resourceUpdated(uri) };
  const listener = http.createServer(async (request, response) => {
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    const asked = new Request(`http://${request.headers.host}${request.url}`, {
      method: request.method,
      headers: request.headers,
      body: pieces.length > 0 ? Buffer.concat(pieces) : undefined,
      signal: gone.signal,
    });
    const answer = await handler.fetch(asked);
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body) Readable.fromWeb(answer.body).on('error', () => response.destroy()).pipe(response);
    else response.end();
  });
  listener.listen(0, '127.0.0.1', () => console.log(listener.address().port));
}
