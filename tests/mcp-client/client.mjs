// What a stranger's MCP client sees of a gateway, as JSON on standard output.
//
//   node client.mjs SDK ERA http URL TOKEN
//   node client.mjs SDK ERA stdio COMMAND TOKEN
//
// SDK and ERA are those of sdk.mjs.

import { strangers } from './sdk.mjs';

const [sdk, era, transport, target, token] = process.argv.slice(2);
const { newClient, open } = await strangers(sdk, era, transport, target);

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
process.stdout.write(JSON.stringify(seen), () => process.exit(0));
