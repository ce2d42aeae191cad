// A strict authorization server, a protected MCP server, and a list of what both saw.
// Whatever a client does wrong is a violation, which the test reads at the end.
import http from 'node:http';
import https from 'node:https';
import fs from 'node:fs';
import crypto from 'node:crypto';

const b64 = (value) => Buffer.from(value).toString('base64url');
const random = () => crypto.randomBytes(24).toString('base64url');
let base = '';
const set = { expiresIn: 3600, auth: 'none', iss: true };
const clients = new Map();
const codes = new Map();
const used = new Set();
const access = new Map();
const refresh = new Map();
const nothing = () => ({ violations: [], refreshes: 0, exchanges: 0, registrations: 0, refused: 0, revoked: 0, machine: 0, calls: 0, bearers: [], scopes: [], hits: [], shown: [], prompts: [], probes: 0 });
let seen = nothing();
const wrong = (what) => { seen.violations.push(what); };

const rsa = crypto.generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = crypto.generateKeyPairSync('ec', { namedCurve: 'P-256' });
const ed = crypto.generateKeyPairSync('ed25519');
const stranger = crypto.generateKeyPairSync('ed25519');
const pairs = { RS256: rsa, ES256: ec, EdDSA: ed, Ed25519: ed };
let shown = ['RS256', 'ES256', 'EdDSA'];
// Responses that are held back for ever, until they are cut off.
let hanging = [];

function sign({ alg = 'EdDSA', kid = alg, typ = 'at+jwt', claims, by }) {
  const now = Math.floor(Date.now() / 1000);
  const body = { iss: base, aud: set.audience, sub: 'ada', scope: 'tools', exp: now + 600, nbf: now - 1, ...claims };
  const signed = `${b64(JSON.stringify({ alg, kid, typ }))}.${b64(JSON.stringify(body))}`;
  if (alg === 'none') return `${signed}.`;
  if (alg.startsWith('HS')) {
    // The old trick: the public key as a shared secret.
    const key = ed.publicKey.export({ type: 'spki', format: 'pem' });
    return `${signed}.${crypto.createHmac('sha256', key).update(signed).digest('base64url')}`;
  }
  const key = (by === 'stranger' ? stranger : pairs[alg]).privateKey;
  const options = alg === 'ES256' ? { key, dsaEncoding: 'ieee-p1363' } : key;
  return `${signed}.${crypto.sign(alg.startsWith('Ed') ? null : 'sha256', Buffer.from(signed), options).toString('base64url')}`;
}

const resource = () => `${base}/mcp`;
function metadata() {
  return {
    issuer: set.issuerMismatch ? 'https://other.example' : base,
    authorization_endpoint: `${base}/authorize`,
    token_endpoint: set.tokenEndpoint ?? `${base}/token`,
    registration_endpoint: `${base}/register`,
    revocation_endpoint: `${base}/revoke`,
    jwks_uri: `${base}/jwks`,
    response_types_supported: ['code'],
    grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
    token_endpoint_auth_methods_supported: [set.auth, 'client_secret_basic'],
    ...(set.noPkce ? {} : { code_challenge_methods_supported: set.plainPkce ? ['plain'] : ['S256'] }),
    authorization_response_iss_parameter_supported: set.iss,
    ...(set.offline ? { scopes_supported: ['tools', 'offline_access'] } : {}),
  };
}

function json(response, status, body, headers = {}) {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers });
  response.end(JSON.stringify(body));
}

function authorize(query, response) {
  const client = clients.get(query.get('client_id'));
  if (!client) { if (!set.forgetful) wrong('authorize: unknown client'); return json(response, 400, {}); }
  if (!client.redirect_uris.includes(query.get('redirect_uri'))) { wrong('authorize: redirect_uri'); return json(response, 400, {}); }
  if (query.get('response_type') !== 'code') wrong('authorize: response_type');
  if (query.get('code_challenge_method') !== 'S256') wrong('authorize: method');
  if (!/^[A-Za-z0-9_-]{43}$/.test(query.get('code_challenge') ?? '')) wrong('authorize: challenge');
  if (query.get('resource') !== resource()) wrong(`authorize: resource ${query.get('resource')}`);
  if ((query.get('state') ?? '').length < 40) wrong('authorize: state');
  if (set.strictScopes && !(query.get('scope') ?? '').split(' ').every((one) => (client.scope ?? '').split(' ').includes(one))) wrong('authorize: a scope the client is not registered for');
  const code = random();
  seen.scopes.push(query.get('scope'));
  seen.prompts.push(query.get('prompt'));
  codes.set(code, { client: query.get('client_id'), redirect: query.get('redirect_uri'), challenge: query.get('code_challenge'), scope: query.get('scope') ?? '', consented: query.get('prompt') === 'consent' });
  const back = new URL(query.get('redirect_uri'));
  back.searchParams.set('state', query.get('state'));
  if (set.deny) back.searchParams.set('error', 'access_denied'); else back.searchParams.set('code', code);
  if (set.iss) back.searchParams.set('iss', set.wrongIss ?? base);
  response.writeHead(302, { location: back.toString() });
  response.end();
}

function who(request, form) {
  const header = request.headers.authorization;
  if (header?.startsWith('Basic ')) {
    const [id, secret] = Buffer.from(header.slice(6), 'base64').toString().split(':').map((part) => decodeURIComponent(part.replaceAll('+', ' ')));
    if (form.get('client_id') !== id) wrong('token: no client_id beside Basic');
    const client = clients.get(id);
    return client && client.client_secret === secret ? client : undefined;
  }
  const client = clients.get(form.get('client_id'));
  return client && !client.client_secret ? client : undefined;
}

function give(response, client, scope, renewable) {
  const token = random();
  access.set(token, { scope });
  const body = { access_token: token, token_type: 'Bearer', expires_in: set.expiresIn, scope };
  if (renewable) { body.refresh_token = random(); refresh.set(body.refresh_token, { client: client.client_id, scope, used: false }); }
  json(response, 200, body);
}

function token(request, form, response) {
  const client = who(request, form);
  if (!client) return json(response, 401, { error: 'invalid_client' });
  if (form.get('resource') !== resource()) wrong(`token: resource ${form.get('resource')}`);
  const kind = form.get('grant_type');
  if (kind === 'authorization_code') {
    seen.exchanges += 1;
    const code = codes.get(form.get('code'));
    if (!code && !used.has(form.get('code'))) { seen.exchanges -= 1; seen.probes += 1; return json(response, 400, { error: set.vague ?? 'invalid_grant' }); }
    codes.delete(form.get('code'));
    used.add(form.get('code'));
    const proof = crypto.createHash('sha256').update(form.get('code_verifier') ?? '').digest('base64url');
    if (!code) { wrong('token: code used twice'); return json(response, 400, { error: 'invalid_grant' }); }
    if (code.client !== client.client_id) wrong('token: client');
    if (code.redirect !== form.get('redirect_uri')) wrong('token: redirect_uri');
    if (code.challenge !== proof) { wrong('token: verifier'); return json(response, 400, { error: 'invalid_grant' }); }
    // OpenID Connect: no refresh token without the scope for it and a person's consent.
    return give(response, client, code.scope, !set.offline || (code.consented && code.scope.split(' ').includes('offline_access')));
  }
  if (kind === 'refresh_token') {
    seen.refreshes += 1;
    if (set.refreshFails) return json(response, set.refreshFails, {});
    const known = refresh.get(form.get('refresh_token'));
    if (!known || known.revoked) return json(response, 400, { error: 'invalid_grant', error_description: 'the refresh token was revoked' });
    if (known.used) { wrong('token: a refresh token was used twice'); return json(response, 400, { error: 'invalid_grant' }); }
    if (!set.keepsRefresh) known.used = true;
    if (set.drops) return response.destroy();
    if (set.hangs) return hanging.push(response);
    return give(response, client, known.scope, !set.keepsRefresh);
  }
  if (kind === 'client_credentials') {
    seen.machine += 1;
    if (!client.client_secret) return json(response, 400, { error: 'unauthorized_client' });
    return give(response, client, form.get('scope') ?? '', false);
  }
  json(response, 400, { error: 'unsupported_grant_type' });
}

const tools = () => ({ tools: ['echo', 'admin'].map((name) => ({ name, description: `The tool ${name}`, inputSchema: { type: 'object', properties: { text: { type: 'string' } } }, annotations: { readOnlyHint: true } })) });

function mcp(request, body, response) {
  const header = request.headers.authorization ?? '';
  seen.bearers.push(header);
  const known = access.get(header.replace(/^Bearer /, ''));
  if (!set.open && (!known || known.over)) {
    seen.refused += 1;
    const place = set.metadataUrl ?? `${base}/.well-known/oauth-protected-resource/mcp`;
    return json(response, 401, {}, { 'www-authenticate': `Bearer resource_metadata="${place}", scope="tools"` });
  }
  const message = JSON.parse(body);
  if (message.id === undefined) { response.writeHead(202); return response.end(); }
  const result = (value) => json(response, 200, { jsonrpc: '2.0', id: message.id, result: value });
  switch (message.method) {
    case 'initialize':
      return result({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'protected', version: '1' } });
    case 'tools/list':
      if (set.slow) return setTimeout(() => result(tools()), set.slow);
      return result(tools());
    case 'tools/call':
      seen.calls += 1;
      seen.shown.push(header);
      if (message.params.name === 'admin' && !known.scope.split(' ').includes('admin')) {
        return json(response, 403, {}, { 'www-authenticate': 'Bearer error="insufficient_scope", scope="tools admin"' });
      }
      return result({ content: [{ type: 'text', text: `${message.params.name}: ${message.params.arguments?.text ?? ''}${set.leak ? header : ''}` }] });
    default:
      return json(response, 200, { jsonrpc: '2.0', id: message.id, error: { code: -32601, message: 'no such method' } });
  }
}

function register(body, response) {
  const wanted = JSON.parse(body);
  seen.registrations += 1;
  if (set.unscoped && wanted.scope) return json(response, 400, { error: 'invalid_client_metadata', error_description: 'scope must only contain supported values' });
  if (set.noRegistration) return json(response, 403, { error: 'access_denied' });
  if (wanted.redirect_uris?.length !== 1 || !['native', 'web'].includes(wanted.application_type)) wrong('register: shape');
  const client = { ...wanted, client_id: `client-${random()}` };
  if (wanted.token_endpoint_auth_method !== 'none') client.client_secret = random();
  clients.set(client.client_id, client);
  json(response, 201, client);
}

function control(body, response) {
  const { set: change, clients: more, forget, expire, revoke, cut, keys, reset } = JSON.parse(body);
  Object.assign(set, change);
  for (const client of more ?? []) clients.set(client.client_id, client);
  if (forget) clients.clear();
  if (cut) for (const one of hanging.splice(0)) one.destroy();
  if (expire) for (const one of access.values()) one.over = true;
  if (revoke) for (const one of refresh.values()) one.revoked = true;
  if (keys) shown = keys;
  if (reset) seen = nothing();
  json(response, 200, { ...seen, hanging: hanging.length, live: [...refresh.values()].filter((one) => !one.used && !one.revoked).length });
}

function huge(response) {
  response.writeHead(200, { 'content-type': 'application/json' });
  const piece = Buffer.alloc(1 << 20, 32);
  let left = 100;
  const more = () => { while (left > 0) { left -= 1; if (!response.write(piece)) return; } response.end('{}'); };
  response.on('drain', more);
  response.on('error', () => {});
  more();
}

const [cert, key] = process.argv.slice(2);
const answer = (request, response) => {
  let body = '';
  request.on('data', (piece) => { body += piece; });
  request.on('end', () => {
    const url = new URL(request.url, base);
    const form = new URLSearchParams(body);
    if (!url.pathname.startsWith('/_')) seen.hits.push(`${request.method} ${url.pathname}`);
    switch (url.pathname) {
      case '/_control': return control(body, response);
      case '/_sign': return json(response, 200, { token: sign(JSON.parse(body)) });
      case '/mcp': return request.method === 'POST' ? mcp(request, body, response) : json(response, 405, {});
      case '/.well-known/oauth-protected-resource/mcp':
        return json(response, 200, { resource: set.resource ?? resource(), authorization_servers: [set.issuer ?? base], scopes_supported: ['tools', 'admin'] });
      case '/.well-known/oauth-authorization-server':
        if (set.redirects) { response.writeHead(302, { location: `${base}/elsewhere` }); return response.end(); }
        if (set.huge) return huge(response);
        return json(response, 200, metadata());
      case '/.well-known/openid-configuration':
        return set.redirects || set.huge ? json(response, 404, {}) : json(response, 200, metadata());
      case '/elsewhere': return json(response, 200, metadata());
      case '/authorize': return authorize(url.searchParams, response);
      case '/token': return token(request, form, response);
      case '/register': return register(body, response);
      case '/revoke':
        seen.revoked += 1;
        if (!who(request, form)) wrong('revoke: client');
        if (refresh.has(form.get('token'))) refresh.get(form.get('token')).revoked = true;
        return json(response, 200, {});
      case '/jwks':
        return json(response, 200, { keys: shown.map((alg) => ({ ...pairs[alg].publicKey.export({ format: 'jwk' }), kid: alg, alg, use: 'sig' })) });
      default: return json(response, 404, {});
    }
  });
};
const server = cert ? https.createServer({ cert: fs.readFileSync(cert), key: fs.readFileSync(key) }, answer) : http.createServer(answer);
server.listen(0, '127.0.0.1', () => {
  base = `${cert ? 'https://localhost' : 'http://127.0.0.1'}:${server.address().port}`;
  console.log(server.address().port);
});
