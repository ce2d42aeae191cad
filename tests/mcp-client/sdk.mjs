// The official MCP clients of both generations behind one door.
//
// SDK is v2 (@modelcontextprotocol/client) or v1 (@modelcontextprotocol/sdk); ERA is a protocol version.

async function parts(sdk, era) {
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

/** How to make a client, and how to open its way to `target`: a URL and the `path` there, or a command over stdio. */
export async function strangers(sdk, era, transport, target, path = '/mcp?profile=all') {
  const { Client, StreamableHTTPClientTransport, StdioClientTransport, options } = await parts(sdk, era);
  const newClient = (more) => new Client({ name: 'a-stranger', version: '1.0.0' }, { ...options, ...more });
  const open = (token, more) => {
    if (transport === 'stdio') {
      const { PATH, HOME, MANYHANDS_HOME } = process.env;
      return new StdioClientTransport({
        command: target,
        args: ['mcp', '--profile', 'all'],
        env: { PATH, HOME, MANYHANDS_HOME, MANYHANDS_TOKEN: token },
      });
    }
    return new StreamableHTTPClientTransport(new URL(path, target), {
      requestInit: { headers: { Authorization: `Bearer ${token}` } },
      ...more,
    });
  };
  return { newClient, open };
}
