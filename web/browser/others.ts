// Who a gateway talks to in these tests, in this process: a chat platform and an MCP server, as small as can be.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

class Listener {
  readonly #server: Server;

  constructor(answer: (request: IncomingMessage, body: string, response: ServerResponse) => void | Promise<void>) {
    this.#server = createServer((request, response) => {
      let body = '';
      request.on('data', (piece: Buffer) => (body += piece.toString()));
      request.on('end', () => void answer(request, body, response));
    });
  }

  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

export type Offered = { name: string; description: string; inputSchema: object; answers: string; picture?: string };
type Asked = { id?: number; method: string; params?: { protocolVersion?: string; name?: string } };

/** A server of models that speaks OpenAI's format, takes one key and repeats a wrong one in its anger. */
export class ModelServer {
  url = '';
  readonly keys: string[] = [];
  readonly #listener = new Listener((request, _body, response) => {
    const key = (request.headers.authorization ?? '').replace(/^Bearer /, '');
    this.keys.push(key);
    const json = (status: number, value: unknown) => void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    if (key !== this.key) return json(401, { error: { message: `Incorrect API key provided: ${key}`, code: 'invalid_api_key' } });
    if (request.method === 'GET') return json(200, { object: 'list', data: this.models.map((id) => ({ id, object: 'model' })) });
    const piece = { id: '1', object: 'chat.completion.chunk', model: 'm', choices: [{ index: 0, delta: { content: 'I am here.' }, finish_reason: 'stop' }], usage: { prompt_tokens: 5, completion_tokens: 2 } };
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${JSON.stringify(piece)}\n\ndata: [DONE]\n\n`);
  });

  constructor(
    private readonly key: string,
    private readonly models: string[],
  ) {}

  async start(): Promise<this> {
    this.url = `${await this.#listener.start()}/v1`;
    return this;
  }

  stop(): void {
    this.#listener.stop();
  }
}

/** An MCP server of the old era over HTTP, whose tools change when a test says so. */
export class McpServer {
  url = '';
  readonly #listener = new Listener((request, body, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const asked = JSON.parse(body) as Asked;
    if (asked.id === undefined) return void response.writeHead(202).end();
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id: asked.id, result: this.#answer(asked) }));
  });

  constructor(public tools: Offered[]) {}

  async start(): Promise<this> {
    this.url = `${await this.#listener.start()}/mcp`;
    return this;
  }

  stop(): void {
    this.#listener.stop();
  }

  #answer({ method, params }: Asked): unknown {
    if (method === 'initialize') return { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'small', version: '1' } };
    if (method === 'tools/call') {
      const { answers = '', picture } = this.tools.find((tool) => tool.name === params?.name) ?? {};
      return { content: [{ type: 'text', text: answers }, ...(picture ? [{ type: 'image', data: picture, mimeType: 'image/png' }] : [])] };
    }
    if (method === 'tools/list') return { tools: this.tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema, annotations: { readOnlyHint: true } })) };
    return {};
  }
}

type Person = { id: number; first_name: string; username?: string };

/** Telegram's Bot API, as far as a bot needs it that reads and writes texts. */
export class Telegram {
  url = '';
  /** What the bot wrote, and to whom. */
  readonly sent: { to: number; text: string }[] = [];
  readonly #updates: { update_id: number }[] = [];
  #waiting: (() => void)[] = [];
  #next = 1;
  readonly #listener = new Listener(async (request, body, response) => {
    const [, method = ''] = /^\/bot[^/]+\/(\w+)/.exec(request.url ?? '') ?? [];
    const query = Object.fromEntries(new URL(request.url ?? '', 'http://here').searchParams);
    const params = { ...query, ...(body.startsWith('{') ? (JSON.parse(body) as Record<string, unknown>) : {}) };
    const result = await this.#answer(method, params);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ ok: true, result }));
  });

  async start(): Promise<this> {
    this.url = await this.#listener.start();
    return this;
  }

  stop(): void {
    for (const go of this.#waiting) go();
    this.#listener.stop();
  }

  /** Somebody writes to the bot. */
  write(from: Person, text: string): void {
    const message_id = (this.#next += 1);
    const chat = { id: from.id, type: 'private', first_name: from.first_name };
    const message = { message_id, date: Math.floor(Date.now() / 1000), from: { is_bot: false, ...from }, chat, text };
    this.#updates.push({ update_id: message_id, ...{ message } });
    for (const go of this.#waiting.splice(0)) go();
  }

  async #answer(method: string, params: Record<string, unknown>): Promise<unknown> {
    if (method === 'getMe') return { id: 7, is_bot: true, first_name: 'Manyhands', username: 'manyhands_demo_bot' };
    if (method === 'getUpdates') {
      const from = Number(params.offset ?? 0);
      const fresh = () => this.#updates.filter((update) => update.update_id >= from);
      if (!fresh().length && Number(params.timeout ?? 0) > 0) {
        await new Promise<void>((done) => {
          this.#waiting.push(done);
          setTimeout(done, Number(params.timeout) * 1_000).unref();
        });
      }
      return fresh();
    }
    if (method === 'sendMessage' || method === 'editMessageText') {
      const to = Number(params.chat_id);
      this.sent.push({ to, text: String(params.text) });
      return { message_id: Number(params.message_id ?? (this.#next += 1)), date: Math.floor(Date.now() / 1000), chat: { id: to, type: 'private' }, text: params.text };
    }
    return true;
  }
}
