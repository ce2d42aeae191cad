// An MCP server with the authorization server of the TypeScript SDK, which rotates refresh tokens.
// The parent's lines are commands in JSON: { ttl } sets the life of access tokens in seconds, { revoke } ends every token,
// { forget } forgets all clients.
import crypto from 'node:crypto';
import { createInterface } from 'node:readline';
import express from 'express';
import { mcpAuthRouter, getOAuthProtectedResourceMetadataUrl } from '@modelcontextprotocol/sdk/server/auth/router.js';
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import { InvalidGrantError, InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';

let ttl = 3600;
const seen = { refreshes: 0, revoked: 0, registrations: 0 };
const random = () => crypto.randomBytes(24).toString('base64url');
const [clients, codes, access, refresh, spent] = [new Map(), new Map(), new Map(), new Map(), new Set()];

function tokens(clientId, scopes) {
  const token = random();
  access.set(token, { token, clientId, scopes, expiresAt: Math.floor(Date.now() / 1000) + ttl });
  const next = random();
  refresh.set(next, { clientId, scopes });
  return { access_token: token, token_type: 'bearer', expires_in: ttl, scope: scopes.join(' '), refresh_token: next };
}

const provider = {
  clientsStore: {
    getClient: (id) => clients.get(id),
    registerClient: (client) => { seen.registrations += 1; clients.set(client.client_id, client); return client; },
  },
  async authorize(client, params, response) {
    const code = random();
    codes.set(code, { clientId: client.client_id, scopes: params.scopes ?? [], challenge: params.codeChallenge });
    const back = new URL(params.redirectUri);
    back.searchParams.set('code', code);
    if (params.state) back.searchParams.set('state', params.state);
    response.redirect(back.toString());
  },
  async challengeForAuthorizationCode(client, code) {
    const known = codes.get(code);
    if (known?.clientId !== client.client_id) throw new InvalidGrantError('unknown code');
    return known.challenge;
  },
  async exchangeAuthorizationCode(client, code) {
    const { scopes } = codes.get(code);
    codes.delete(code);
    return tokens(client.client_id, scopes);
  },
  async exchangeRefreshToken(client, token) {
    const known = refresh.get(token);
    if (spent.has(token)) seen.revoked += 1; // somebody used it before
    if (known?.clientId !== client.client_id) throw new InvalidGrantError('unknown refresh token');
    refresh.delete(token);
    spent.add(token);
    seen.refreshes += 1;
    return tokens(client.client_id, known.scopes);
  },
  async verifyAccessToken(token) {
    const known = access.get(token);
    if (!known) throw new InvalidTokenError('unknown token');
    return known;
  },
  async revokeToken(_, request) { access.delete(request.token); refresh.delete(request.token); },
};

const app = express();
const listening = app.listen(0, '127.0.0.1', () => {
  const issuer = new URL(`http://127.0.0.1:${listening.address().port}`);
  const resource = new URL('/mcp', issuer);
  app.use(mcpAuthRouter({ provider, issuerUrl: issuer, resourceServerUrl: resource, scopesSupported: ['tools', 'admin'] }));
  const guard = requireBearerAuth({ verifier: provider, resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(resource) });
  app.all('/mcp', guard, express.json(), async (request, response) => {
    const server = new McpServer({ name: 'prot', version: '1' });
    const say = (name) => server.registerTool(name, { description: `The tool ${name}`, inputSchema: { text: z.string().optional() } }, ({ text }) => ({ content: [{ type: 'text', text: `${name}: ${text ?? ''}` }] }));
    ['echo', 'admin'].forEach(say);
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
    response.on('close', () => { transport.close(); server.close(); });
    await server.connect(transport);
    await transport.handleRequest(request, response, request.body);
  });
  console.log(listening.address().port);
});

createInterface({ input: process.stdin }).on('line', (line) => {
  const command = JSON.parse(line);
  if (command.ttl) ttl = command.ttl;
  if (command.revoke) { access.clear(); refresh.clear(); }
  if (command.forget) clients.clear();
  console.log(JSON.stringify(seen));
}).on('close', () => process.exit(0));
