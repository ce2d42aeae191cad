// oidc-provider as it comes, with its own login and consent pages, and an MCP server that its tokens protect.
// The parent's lines are commands in JSON: { ttl } sets the life of access tokens in seconds, { revoke } ends every grant,
// { forget } all clients.
import http from 'node:http';
import crypto from 'node:crypto';
import { createInterface } from 'node:readline';
import { Provider } from 'oidc-provider';

console.info = console.warn = () => {}; // its notices about development settings; our lines are answers
let ttl = 3600;
const grants = new Set();
const clients = new Set();
const seen = { refreshes: 0, revoked: 0 };
let provider;
let issuer;
const resource = () => `${issuer}/mcp`;

function configuration() {
  return {
    clients: [],
    // Those of the resource are its own.
    scopes: ['openid', 'offline_access'],
    pkce: { required: () => true },
    features: {
      registration: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => resource(),
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({ scope: 'tools admin', accessTokenTTL: ttl, accessTokenFormat: 'opaque' }),
      },
    },
    // The second use of a refresh token ends the grant.
    rotateRefreshToken: true,
    cookies: { keys: [crypto.randomBytes(16).toString('hex')] },
    ttl: { Grant: 3600, RefreshToken: 3600, Session: 3600, Interaction: 600, AuthorizationCode: 60 },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  };
}

const tool = (name) => ({ name, description: `The tool ${name}`, inputSchema: { type: 'object', properties: { text: { type: 'string' } } }, annotations: { readOnlyHint: true } });

async function mcp(request, response) {
  let body = '';
  for await (const piece of request) body += piece;
  const json = (status, value, headers = {}) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(value));
  };
  const bearer = (request.headers.authorization ?? '').replace(/^Bearer /, '');
  const token = bearer && (await provider.AccessToken.find(bearer));
  if (!token || token.aud !== resource()) {
    return json(401, {}, { 'www-authenticate': `Bearer resource_metadata="${issuer}/.well-known/oauth-protected-resource/mcp", scope="tools"` });
  }
  if (request.method !== 'POST') return json(405, {});
  const message = JSON.parse(body);
  if (message.id === undefined) { response.writeHead(202); return response.end(); }
  const result = (value) => json(200, { jsonrpc: '2.0', id: message.id, result: value });
  switch (message.method) {
    case 'initialize':
      return result({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'protected', version: '1' } });
    case 'tools/list':
      return result({ tools: [tool('echo'), tool('admin')] });
    case 'tools/call':
      if (message.params.name === 'admin' && !token.scopes.has('admin')) {
        return json(403, {}, { 'www-authenticate': 'Bearer error="insufficient_scope", scope="tools admin"' });
      }
      return result({ content: [{ type: 'text', text: `${message.params.name}: ${message.params.arguments?.text ?? ''}` }] });
    default:
      return json(200, { jsonrpc: '2.0', id: message.id, error: { code: -32601, message: 'no such method' } });
  }
}

let handle;
const server = http.createServer((request, response) => {
  const path = new URL(request.url, issuer).pathname;
  if (path === '/mcp') return mcp(request, response);
  if (path === '/.well-known/oauth-protected-resource/mcp') {
    response.writeHead(200, { 'content-type': 'application/json' });
    return response.end(JSON.stringify({ resource: resource(), authorization_servers: [issuer], scopes_supported: ['tools', 'admin'] }));
  }
  return handle(request, response);
});

server.listen(0, '127.0.0.1', () => {
  issuer = `http://127.0.0.1:${server.address().port}`;
  provider = new Provider(issuer, configuration());
  handle = provider.callback();
  provider.on('grant.success', (ctx) => {
    if (ctx.oidc.params.grant_type === 'refresh_token') seen.refreshes += 1;
    grants.add(ctx.oidc.entities.Grant.jti);
  });
  provider.on('grant.revoked', () => { seen.revoked += 1; });
  provider.on('registration_create.success', (_, client) => clients.add(client.clientId));
  console.log(server.address().port);
});

createInterface({ input: process.stdin }).on('line', async (line) => {
  const command = JSON.parse(line);
  if (command.ttl) ttl = command.ttl;
  if (command.forget) {
    for (const id of clients) await provider.Client.adapter.destroy(id);
  }
  if (command.revoke) {
    for (const id of grants) {
      await provider.RefreshToken.revokeByGrantId(id);
      await provider.AccessToken.revokeByGrantId(id);
    }
  }
  console.log(JSON.stringify(seen));
}).on('close', () => process.exit(0));
