// What a stranger's MCP client sees of a gateway, as JSON on standard output.
//
//   node client.mjs SDK ERA http URL TOKEN
//   node client.mjs SDK ERA stdio COMMAND TOKEN
//
// SDK is v2 (@modelcontextprotocol/client) or v1 (@modelcontextprotocol/sdk); ERA is a protocol version.

const [sdk, era, transport, target, token] = process.argv.slice(2);

async function parts() {
  if (sdk === 'v1') {
    const [{ Client }, { StreamableHTTPClientTransport }, { StdioClientTransport }] = await Promise.all([
      import('@modelcontextprotocol/sdk/client/index.js'),
      import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
      import('@modelcontextprotocol/sdk/client/stdio.js'),
    ]);
    return { Client, StreamableHTTPClientTransport, StdioClientTransport, options: {} };
  }
  const [{ Client, StreamableHTTPClientTransport }, { StdioClientTransport }] = await Promise.all([
    import('@modelcontextprotocol/client'),
    import('@modelcontextprotocol/client/stdio'),
  ]);
  const mode = era === '2026-07-28' ? { pin: era } : 'legacy';
  return { Client, StreamableHTTPClientTransport, StdioClientTransport, options: { versionNegotiation: { mode } } };
}

const { Client, StreamableHTTPClientTransport, StdioClientTransport, options } = await parts();

function open(token) {
  if (transport === 'stdio') {
    const { PATH, HOME, MANYHANDS_HOME } = process.env;
    return new StdioClientTransport({
      command: target,
      args: ['mcp'],
      env: { PATH, HOME, MANYHANDS_HOME, MANYHANDS_TOKEN: token },
    });
  }
  return new StreamableHTTPClientTransport(new URL('/mcp', target), {
    requestInit: { headers: { Authorization: `Bearer ${token}` } },
  });
}

const newClient = () => new Client({ name: 'a-stranger', version: '1.0.0' }, options);

/** What a promise came to: its value, or why not. */
async function outcome(promise) {
  try {
    return { value: await promise };
  } catch (error) {
    return { error: String(error.message ?? error) };
  }
}

const client = newClient();
await client.connect(open(token));
const call = (name, args) => outcome(client.callTool({ name, arguments: args }));
const { tools } = await client.listTools();
const path = `from-${sdk}-${era}-${transport}.md`;
const content = 'hällo from a stranger\r\n';
const seen = {
  server: client.getServerVersion(),
  tools,
  path,
  content,
  written: await call('gsv__WriteFile', { path, content }),
  read: await call('gsv__ReadFile', { path }),
  listed: await call('gsv__ReadFile', {}),
  missing: await call('gsv__ReadFile', { path: 'nowhere.md' }),
  invalid: await call('gsv__WriteFile', { file: 'x' }),
  climbing: await call('gsv__ReadFile', { path: '../../owner.token' }),
  unknown: await call('gsv__Nothing', {}),
};
await client.close();
seen.stranger = await outcome(newClient().connect(open('mh_nonsense')));
delete seen.stranger.value;
console.log(JSON.stringify(seen));
process.exit(0);
