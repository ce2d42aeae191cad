// A call as text that can be pasted: into a terminal, or where a program is written.

/** A word as every POSIX shell reads it. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

const path = (tool: string) => tool.split('/').map(encodeURIComponent).join('/');

/** For the command line of the gateway. */
export function asCommand(tool: string, args: unknown, agent = 'main'): string {
  const who = agent === 'main' ? '' : ` --agent ${quoted(agent)}`;
  return `manyhands call ${quoted(tool)} ${quoted(JSON.stringify(args))}${who}`;
}

/** For any program that speaks HTTP; the token stays a name. */
export function asCurl(address: string, tool: string, args: unknown, agent = 'main'): string {
  const who = agent === 'main' ? '' : `?agent=${encodeURIComponent(agent)}`;
  const lines = [
    `curl ${quoted(`${address}/api/tools/${path(tool)}${who}`)}`,
    `-H "authorization: Bearer $MANYHANDS_TOKEN"`,
    `-H 'content-type: application/json'`,
    `-d ${quoted(JSON.stringify(args))}`,
  ];
  return lines.join(' \\\n  ');
}

/** What goes into the settings of an editor or assistant that speaks MCP. */
export function asMcp(address: string, token: string, by: 'command' | 'url'): string {
  const here = by === 'command' ? { command: 'manyhands', args: ['mcp'], env: { MANYHANDS_URL: address, MANYHANDS_TOKEN: token } } : { url: `${address}/mcp`, headers: { Authorization: `Bearer ${token}` } };
  return JSON.stringify({ mcpServers: { manyhands: here } }, null, 2);
}
