// MCP servers that run on the gateway's machine: what would run is shown exactly, confirmed, and can be switched off again.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { house } from './visit';

const here = house();

/** A server with two tools that says on standard error how it was started. */
const SERVER = `import json, os, sys
print("started with", sys.argv[1:], "key:", len(os.environ.get("API_TOKEN", "")), file=sys.stderr, flush=True)
for line in sys.stdin:
    ask = json.loads(line)
    if "id" not in ask: continue
    answer = {}
    if ask["method"] == "initialize": answer = {"protocolVersion": ask["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "t", "version": "1"}}
    elif ask["method"] == "tools/list": answer = {"tools": [{"name": n, "description": n + " things", "inputSchema": {"type": "object"}} for n in ("look", "change")]}
    elif ask["method"] == "tools/call": answer = {"content": [{"type": "text", "text": "called"}]}
    print(json.dumps({"jsonrpc": "2.0", "id": ask["id"], "result": answer}), flush=True)
`;
async function program(): Promise<string> {
  const file = join(here.gateway.folder, 'server.py');
  await writeFile(file, SERVER);
  return file;
}
const dialogOf = (page: Page): Locator => page.getByRole('dialog', { name: 'Add an MCP server' });
const names = async () => (await here.gateway.get<{ servers: { name: string }[] }>('/api/servers')).servers.map((one) => one.name);

test('a local command is added only after its exact words were confirmed', async () => {
  const file = await program();
  const page = await here.open('servers/add');
  const dialog = dialogOf(page);
  await dialog.getByRole('tab', { name: 'Local command' }).click();
  await dialog.getByRole('textbox', { name: 'Command' }).fill(`python3 ${file} --dir 'a b'`);
  await dialog.getByRole('textbox', { name: 'Name' }).fill('mine');
  await dialog.getByRole('textbox', { name: /Environment variables/ }).fill('API_TOKEN=s3cr3t-value-1234');
  await dialog.getByRole('button', { name: 'Review' }).click();
  const review = dialog.getByRole('form', { name: 'Review and add' });
  await review.getByText('will run on the gateway').waitFor();
  expect((await review.getByRole('group', { name: 'sh code' }).innerText()).trim()).toBe(`python3 ${file} --dir 'a b'`);
  await review.getByText('API_TOKEN').first().waitFor();
  const add = review.getByRole('button', { name: 'Add and run' });
  expect(await add.isDisabled()).toBe(true);
  expect(await names()).toEqual([]);
  await review.getByRole('checkbox', { name: /I trust this command/ }).check();
  await add.click();
  const region = page.getByRole('region', { name: 'mine' });
  await region.getByRole('link', { name: 'mine__look' }).waitFor();
  expect(await page.content()).not.toContain('s3cr3t-value');
  await region.getByRole('tab', { name: 'Log' }).click();
  await page.getByRole('log', { name: 'Log of mine' }).getByText(/started with .*a b/).waitFor();
});

test('a server and each of its tools are switched off and on', async () => {
  const visitor = await here.visit();
  visitor.expected.add(404); // what is asked of a server that was just disabled
  const page = await visitor.open('servers/mine');
  const region = page.getByRole('region', { name: 'mine' });
  const tools = async () => (await here.gateway.get<{ tools: { name: string }[] }>('/api/tools')).tools.map((one) => one.name).filter((name) => name.startsWith('mine__'));
  await region.getByRole('switch', { name: 'change enabled' }).click();
  await expect.poll(tools).toEqual(['mine__look']);
  await region.getByRole('listitem').filter({ hasText: 'change' }).getByText('Disabled').waitFor();
  await region.getByRole('switch', { name: 'change enabled' }).click();
  await expect.poll(async () => (await tools()).sort()).toEqual(['mine__change', 'mine__look']);
  await region.getByRole('switch', { name: 'mine enabled' }).click();
  await page.getByText('This server is disabled').waitFor();
  await expect.poll(tools).toEqual([]);
  await region.getByRole('switch', { name: 'mine enabled' }).click();
  await expect.poll(async () => (await tools()).length).toBe(2);
});

test('JSON from a README is added as it stands there', async () => {
  const file = await program();
  const page = await here.open('servers/add');
  const dialog = dialogOf(page);
  await dialog.getByRole('tab', { name: 'Paste JSON' }).click();
  await dialog.getByRole('textbox', { name: 'JSON from a README' }).fill(JSON.stringify({ mcpServers: { pasted: { command: 'python3', args: [file, '--pasted'] } } }));
  await dialog.getByRole('button', { name: 'Review' }).click();
  const review = dialog.getByRole('form', { name: 'Review and add' });
  await review.getByText('--pasted').waitFor();
  await review.getByRole('checkbox', { name: /I trust this command/ }).check();
  await review.getByRole('button', { name: 'Add and run' }).click();
  await page.getByRole('region', { name: 'pasted' }).getByRole('link', { name: 'pasted__look' }).waitFor();
});

test('the catalog says what will run and asks for what is missing', async () => {
  const page = await here.open('servers/add');
  const dialog = dialogOf(page);
  await dialog.getByRole('searchbox', { name: 'Search servers' }).fill('filesystem');
  await dialog.getByRole('list', { name: 'Catalog' }).getByRole('button', { name: /^Filesystem/ }).click();
  const review = dialog.getByRole('form', { name: 'Review and add' });
  await review.getByLabel(/Directory the server may use/).fill('/srv/data');
  await review.getByLabel('Name').focus();
  await review.getByRole('group', { name: 'sh code' }).getByText('npx -y @modelcontextprotocol/server-filesystem /srv/data').waitFor();
});

test('servers of other AI clients are imported', async () => {
  const file = await program();
  await writeFile(join(here.gateway.folder, 'user', '.claude.json'), JSON.stringify({ mcpServers: { borrowed: { command: 'python3', args: [file] } } }));
  const page = await here.open('servers/add');
  const dialog = dialogOf(page);
  await dialog.getByRole('tab', { name: 'Import' }).click();
  await dialog.getByRole('checkbox', { name: /borrowed/ }).check();
  await dialog.getByRole('button', { name: 'Import 1 server' }).click();
  await page.getByRole('region', { name: 'borrowed' }).getByRole('link', { name: 'borrowed__look' }).waitFor();
});
