// What a stranger's MCP client is told of tools that come and go, until its input ends. Every
// line of standard output is JSON: `listed` are the tools at first, `told` those it lists
// whenever it is told that they changed. Where it follows a resource, `follows` is said when it does,
// and `updated` is what it reads whenever it is told that that changed.
//
//   node changes.mjs SDK ERA http URL TOKEN [PATH [URI [CAPABILITIES]]]
//   node changes.mjs SDK ERA stdio COMMAND TOKEN
//
// SDK and ERA are those of sdk.mjs.

import { strangers } from './sdk.mjs';

const [sdk, era, transport, target, token, path, uri, able = '{}'] = process.argv.slice(2);
const { newClient, open } = await strangers(sdk, era, transport, target, path);

console.warn = () => {}; // of number formats in schemas that the earlier client does not know
const say = (what) => console.log(JSON.stringify(what));
const names = (tools) => tools.map((tool) => tool.name);

// Before 2026-07-28 the client opens its stream after it has connected, and says nothing of it.
let streams;
const streaming = new Promise((resolve) => (streams = resolve));
const watched = async (url, init) => {
  const response = await fetch(url, init);
  if (init?.method === 'GET') streams(response.status);
  return response;
};

const onChanged = (error, tools) => say(error ? { error: String(error) } : { told: names(tools) });
const client = newClient({ capabilities: JSON.parse(able), listChanged: { tools: { onChanged, debounceMs: 0 } } });
await client.connect(open(token, { fetch: watched }));
if (transport === 'http' && era !== '2026-07-28') await streaming;
const { tools } = await client.listTools();
say({ declared: client.getServerCapabilities().tools, listed: names(tools) });

if (uri) {
  const reads = async () => {
    const { contents } = await client.readResource({ uri });
    say({ updated: contents[0].text });
  };
  if (sdk === 'v2') {
    client.setNotificationHandler('notifications/resources/updated', reads);
  } else {
    const { ResourceUpdatedNotificationSchema } = await import('@modelcontextprotocol/sdk/types.js');
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, reads);
  }
  await (era === '2026-07-28' ? client.listen({ resourceSubscriptions: [uri] }) : client.subscribeResource({ uri }));
  say({ follows: uri });
}

process.stdin.on('end', async () => {
  await client.close();
  process.exit(0);
});
process.stdin.resume();
