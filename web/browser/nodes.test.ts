// Other machines: they come and go while one looks, and lend their programs and files.

import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import type { Program } from './gateway';
import { house } from './visit';
import { connected, drop } from './words';

const here = house();
const machine = (page: Page, name: string) => page.getByRole('article', { name, exact: true });

/** Adds a node on the page, and starts it with the command that the page shows. The dialog is left open. */
async function invite(page: Page, name: string): Promise<{ program: Program; folder: string; dialog: Locator }> {
  await page.getByRole('button', { name: 'Add node' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add a node' });
  await dialog.getByRole('textbox', { name: 'Name' }).fill(name);
  await dialog.getByRole('radio', { name: 'Already installed' }).check();
  await dialog.getByRole('button', { name: 'Create command' }).click();
  await dialog.getByText(`Waiting for ${name} to connect`).waitFor();
  const command = await dialog.getByRole('group', { name: 'sh code' }).innerText();
  const [, url, code] = /^manyhands node --url (\S+) --code (\S+)\s*$/.exec(command) ?? [];
  expect(url).toBe(here.gateway.url);
  const folder = join(here.gateway.folder, name);
  return { program: await here.gateway.node(code ?? '', folder), folder, dialog };
}

/** The same, until the node is connected and the list is shown. */
async function lend(page: Page, name: string): Promise<{ program: Program; folder: string }> {
  const { program, folder, dialog } = await invite(page, name);
  await dialog.getByRole('heading', { name: `${name} is connected` }).waitFor();
  await dialog.getByRole('button', { name: 'Close' }).click();
  return { program, folder };
}

test('a node is added by one command, is seen to connect, and is seen to go', async () => {
  const visitor = await here.visit();
  visitor.expected.add(404).add(503); // what is asked of a node that has just gone
  const page = await visitor.open('nodes');
  await page.getByText('No nodes yet').waitFor();
  // No other page is loaded from here on.
  await page.evaluate(() => Object.assign(window, { same: true }));
  const { program, dialog } = await invite(page, 'laptop');
  await dialog.getByRole('heading', { name: 'laptop is connected' }).waitFor();
  await dialog.getByRole('link', { name: 'Open node' }).click();
  await page.getByRole('heading', { level: 1, name: 'laptop' }).waitFor();
  const { nodes } = await here.gateway.get<{ nodes: { nodeId: string; online: boolean; tools: string[] }[] }>('/api/nodes');
  expect(nodes).toMatchObject([{ nodeId: 'laptop', online: true }]);
  await page.getByRole('tab', { name: 'Tools' }).click();
  await page.getByRole('region', { name: 'laptop' }).getByRole('link', { name: 'Bash' }).waitFor();
  await page.getByRole('tab', { name: 'Programs' }).click();

  await program.kill();
  await page.getByText('laptop is offline').waitFor();
  await page.getByRole('link', { name: 'Nodes', exact: true }).last().click();
  await machine(page, 'laptop').getByText('Offline', { exact: true }).waitFor();
  expect(await page.evaluate(() => 'same' in window)).toBe(true);
});

test('the command says what the machine shares, and warns of an address that others cannot reach', async () => {
  const page = await here.open('nodes/add');
  const dialog = page.getByRole('dialog', { name: 'Add a node' });
  await dialog.getByRole('textbox', { name: 'Name' }).fill('pi');
  await dialog.getByRole('button', { name: 'Create command' }).click();
  const command = dialog.getByRole('group', { name: 'sh code' });
  await dialog.getByText('only on the gateway\'s own machine').waitFor();
  expect(await command.innerText()).toMatch(/install\.sh \| sh && ~\/\.local\/bin\/manyhands node --url/);
  await dialog.getByText('Access and options').click();
  await dialog.getByLabel('Address of this gateway').fill('https://hands.example');
  await dialog.getByLabel('Sandbox').selectOption('read-only');
  await dialog.getByLabel('Install as a service').check();
  await dialog.getByText('only on the gateway\'s own machine').waitFor({ state: 'detached' });
  await expect.poll(() => command.innerText()).toMatch(/manyhands node install --url https:\/\/hands\.example --code \S+ --sandbox read-only\s*$/);
});

test('a program in the background is started, watched, spoken to and ended', async () => {
  const page = await here.open('nodes');
  await connected(page).waitFor();
  await lend(page, 'desk');
  await machine(page, 'desk').getByText('Online', { exact: true }).waitFor();
  await machine(page, 'desk').getByRole('link', { name: 'Programs' }).click();
  await page.getByRole('textbox', { name: 'Command to run in the background' }).fill('echo begun; while read -r line; do echo "heard $line"; done');
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  const screen = page.getByRole('log', { name: 'Output' });
  await screen.getByText('begun').waitFor();
  type Processes = { sessions: { sessionId: string; status: string; pid: number }[] };
  const processes = () => here.gateway.call<Processes>('desk__Process', { action: 'list' });
  expect((await processes()).sessions).toMatchObject([{ status: 'running' }]);

  await page.getByRole('textbox', { name: 'Line of input' }).fill('these words');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await screen.getByText('heard these words').waitFor();

  await page.getByRole('button', { name: 'Stop', exact: true }).click();
  await page.getByRole('button', { name: 'Stop this program?' }).click();
  await expect.poll(async () => (await processes()).sessions[0]?.status).not.toBe('running');
  await page.getByRole('button', { name: 'Stop', exact: true }).waitFor({ state: 'detached' });
  const programs = page.getByRole('list', { name: 'Programs' });
  await programs.getByText('Ended by SIGKILL').waitFor();
  // One that is not looked at by anybody is told apart by why it ended.
  await here.gateway.call('desk__Bash', { command: 'exec sleep 600', background: true, timeout: 20 });
  await programs.getByText('Stopped: time limit reached').waitFor();
});

test('a program that is started here may run for a day, and its time goes on', async () => {
  const page = await here.open('nodes');
  await connected(page).waitFor();
  await lend(page, 'porch');
  await machine(page, 'porch').getByText('Online', { exact: true }).waitFor();
  await page.goto(`${here.gateway.url}/#/nodes/porch/processes`);
  await page.getByRole('textbox', { name: 'Command to run in the background' }).fill('exec sleep 600');
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  const running = page.getByRole('list', { name: 'Programs' }).getByRole('listitem').filter({ hasText: 'exec sleep 600' });
  await running.getByText(/^([3-9]|\d{2,})\.\d s$/).waitFor();
  type Audit = { entries: { tool: string; summary: string }[] };
  const { entries } = await here.gateway.get<Audit>('/api/audit?limit=200');
  expect(entries.find((entry) => entry.tool === 'porch__Bash')?.summary).toContain('86400000');
});

test('what a program prints is followed without a call for every look, and all of it is there when the gateway is back', async () => {
  const visitor = await here.visit();
  visitor.expected.add(404).add(503); // what is asked of a machine that has just gone
  const page = await visitor.open('nodes');
  await connected(page).waitFor();
  const { folder } = await lend(page, 'shed');
  await machine(page, 'shed').getByText('Online', { exact: true }).waitFor();
  const until = (file: string) => `until [ -e ${file} ]; do sleep 0.05; done`;
  const command = `echo first; ${until('one')}; echo second; ${until('two')}; echo third; ${until('three')}; echo fourth; exec sleep 600`;
  await here.gateway.call('shed__Bash', { command, background: true });
  await page.goto(`${here.gateway.url}/#/nodes/shed/processes`);
  await page.getByRole('list', { name: 'Programs' }).getByRole('button', { name: 'echo first' }).click();
  const screen = page.getByRole('log', { name: 'Output' });
  await screen.getByText('first').waitFor();
  type Audit = { entries: { tool: string }[] };
  const looks = async () => (await here.gateway.get<Audit>('/api/audit?limit=1000')).entries.filter((entry) => entry.tool === 'shed__Process').length;
  // The list shows the first line too: what comes after it is followed.
  await writeFile(join(folder, 'one'), '');
  await screen.getByText('second').waitFor();
  const before = await looks();
  await writeFile(join(folder, 'two'), '');
  await screen.getByText('third').waitFor();
  expect(await looks()).toBe(before);

  await here.gateway.restart();
  await writeFile(join(folder, 'three'), '');
  // The machine goes and comes back with what it runs, and is watched on.
  await screen.getByText('fourth').waitFor();
  await expect.poll(async () => (await screen.innerText()).trim()).toBe('first\nsecond\nthird\nfourth');
  // While nobody answered, the browser said so by itself.
  visitor.trouble.splice(0, visitor.trouble.length, ...visitor.trouble.filter((one) => !/WebSocket connection|ERR_/.test(one)));
});

test('its files are looked through, and what is in them is shown', async () => {
  const visitor = await here.visit();
  for (const status of [400, 415, 422, 500]) visitor.expected.add(status); // what is no text is not read
  const page = await visitor.open('nodes');
  const { folder } = await lend(page, 'attic');
  await mkdir(join(folder, 'box', 'inner'), { recursive: true });
  await writeFile(join(folder, 'box', 'inner', 'pearl.txt'), 'a pearl');
  await writeFile(join(folder, 'box', 'letter.txt'), 'dear reader');
  await writeFile(join(folder, 'top.txt'), 'on top');
  const bytes = randomBytes(3_000).fill(0, 0, 8);
  await writeFile(join(folder, 'load.bin'), bytes);
  await machine(page, 'attic').getByText('Online', { exact: true }).waitFor();
  await page.goto(`${here.gateway.url}/#/nodes/attic/files`);
  const files = page.getByRole('listbox', { name: 'Files' });
  await files.getByRole('option', { name: 'box' }).click();
  await files.getByRole('option', { name: 'letter.txt' }).click();
  await page.getByText('dear reader').waitFor();
  // Each folder is one step back.
  await files.getByRole('option', { name: 'inner' }).click();
  await files.getByRole('option', { name: 'pearl.txt' }).waitFor();
  await page.goBack();
  await files.getByRole('option', { name: 'letter.txt' }).waitFor();
  expect(new URL(page.url()).hash).toContain(encodeURIComponent('/box'));
  await page.reload();
  await files.getByRole('option', { name: 'letter.txt' }).waitFor();
  await page.getByRole('navigation', { name: 'Path' }).getByRole('button', { name: folder }).click();
  await files.getByRole('option', { name: 'load.bin' }).click();
  const shown = page.getByRole('region', { name: 'load.bin' });
  await shown.getByText(/binary file/i).waitFor();
  await shown.getByRole('button', { name: 'Copy to workspace' }).click();
  await page.getByRole('list', { name: 'Transfers' }).getByText('Done', { exact: true }).waitFor();
  await here.gateway.call('gsv__Transfer', { source: 'gsv:load.bin', destination: `attic:${join(folder, 'back.bin')}` });
  expect((await readFile(join(folder, 'back.bin'))).equals(bytes)).toBe(true);
});

test('a file is carried over with its progress shown, and every byte arrives', async () => {
  const page = await here.open('nodes');
  const { folder } = await lend(page, 'van');
  const bytes = randomBytes(24_000_000);
  await writeFile(join(folder, 'load.bin'), bytes);
  await machine(page, 'van').getByText('Online', { exact: true }).waitFor();
  // How far it is may be seen only for a moment: it is noted whenever it changes.
  await page.evaluate(() => {
    const seen: number[] = [];
    Object.assign(window, { seen });
    const look = () => document.querySelectorAll('progress').forEach((bar) => bar.hasAttribute('value') && seen.push(bar.value / bar.max));
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
  });
  const transfers = page.getByRole('region', { name: 'Transfers' });
  await transfers.getByRole('combobox', { name: 'From' }).fill(`van:${join(folder, 'load.bin')}`);
  await transfers.getByRole('combobox', { name: 'To' }).fill('gsv:carried.bin');
  await transfers.getByRole('button', { name: 'Transfer' }).click();
  await transfers.getByText('Done', { exact: true }).waitFor();
  const seen = await page.evaluate(() => (window as unknown as { seen: number[] }).seen);
  expect(seen.some((share) => share > 0 && share <= 1), JSON.stringify(seen)).toBe(true);

  await transfers.getByRole('combobox', { name: 'From' }).fill('gsv:carried.bin');
  await transfers.getByRole('combobox', { name: 'To' }).fill(`van:${join(folder, 'back.bin')}`);
  await transfers.getByRole('button', { name: 'Transfer' }).click();
  await expect.poll(() => transfers.getByText('Done', { exact: true }).count()).toBe(2);
  const digest = (of: Buffer) => createHash('sha256').update(of).digest('hex');
  expect(digest(await readFile(join(folder, 'back.bin')))).toBe(digest(bytes));
});

test('a transfer that cannot be made says why', async () => {
  const page = await here.open('nodes');
  await connected(page).waitFor();
  const transfers = page.getByRole('region', { name: 'Transfers' });
  await transfers.getByRole('combobox', { name: 'From' }).fill('nobody:/etc/hosts');
  await transfers.getByRole('combobox', { name: 'To' }).fill('gsv:hosts');
  await transfers.getByRole('button', { name: 'Transfer' }).click();
  await transfers.getByText(/nobody/).nth(1).waitFor();
  expect((await here.gateway.ask('POST', '/api/tools/gsv__ReadFile', { path: 'hosts' })).code).toBe('not_found');
});

test('files are uploaded and downloaded, byte for byte, and nothing is replaced unasked', async () => {
  const visitor = await here.visit();
  visitor.expected.add(422); // bytes are not shown as text
  const page = await visitor.open('nodes');
  const { folder } = await lend(page, 'quay');
  await page.goto(`${here.gateway.url}/#/nodes/quay/files`);
  const files = page.getByRole('listbox', { name: 'Files' });
  await page.getByText('This folder is empty.').waitFor();
  const bytes = randomBytes(200_000);
  await drop(page.getByRole('group', { name: 'Files in this folder' }), { name: 'cargo.bin', type: 'application/octet-stream', bytes });
  await files.getByRole('option', { name: 'cargo.bin' }).waitFor();
  expect((await readFile(join(folder, 'cargo.bin'))).equals(bytes)).toBe(true);
  expect((await readdir(folder)).filter((name) => name.includes('.part-'))).toEqual([]);

  await page.locator('input[type=file]').setInputFiles({ name: "it's text.txt", mimeType: 'text/plain', buffer: Buffer.from('grüße\n') });
  await files.getByRole('option', { name: "it's text.txt" }).waitFor();
  expect(await readFile(join(folder, "it's text.txt"), 'utf8')).toBe('grüße\n');

  await page.locator('input[type=file]').setInputFiles({ name: 'cargo.bin', mimeType: 'text/plain', buffer: Buffer.from('other') });
  const dialog = page.getByRole('dialog', { name: 'Replace files?' });
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  expect((await readFile(join(folder, 'cargo.bin'))).equals(bytes), 'it is as it was').toBe(true);

  await files.getByRole('option', { name: 'cargo.bin' }).click();
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('region', { name: 'cargo.bin' }).getByRole('button', { name: 'Download' }).click()]);
  expect(download.suggestedFilename()).toBe('cargo.bin');
  expect((await readFile(await download.path())).equals(bytes)).toBe(true);
});

test('the log has times and levels, and is filtered', async () => {
  const page = await here.open('nodes');
  await lend(page, 'tower');
  await here.gateway.call('tower__Glob', { pattern: '*' });
  await page.goto(`${here.gateway.url}/#/nodes/tower/log`);
  const log = page.getByRole('log', { name: 'Log of tower' });
  await log.getByText('connected', { exact: true }).waitFor();
  await log.getByText('tool call finished').first().waitFor();
  await log.getByText(/^\d\d:\d\d:\d\d$/).first().waitFor();
  await page.getByRole('searchbox', { name: 'Filter log' }).fill('glob');
  await log.getByText('connected', { exact: true }).waitFor({ state: 'detached' });
  await log.getByRole('button', { name: 'Details' }).first().click();
  await log.getByText('Glob', { exact: true }).waitFor();
  await page.getByRole('combobox', { name: 'Level' }).selectOption('Errors only');
  await log.getByText('No results').waitFor();
});

test('a node that does not offer a terminal says how its owner enables it', async () => {
  const page = await here.open('nodes');
  await lend(page, 'cabin');
  await page.goto(`${here.gateway.url}/#/nodes/cabin/terminal`);
  await page.getByRole('heading', { name: 'The terminal is not enabled on this node' }).waitFor();
  await page.getByText('manyhands node --terminal').waitFor();
});

test('a node is renamed and removed', async () => {
  const visitor = await here.visit();
  visitor.expected.add(404).add(503);
  const page = await visitor.open('nodes');
  await lend(page, 'before');
  await machine(page, 'before').getByRole('link', { name: 'before' }).click();
  await page.getByRole('button', { name: 'Rename' }).click();
  const dialog = page.getByRole('dialog', { name: 'Rename node' });
  await dialog.getByRole('textbox', { name: 'Name' }).fill('after');
  await dialog.getByRole('button', { name: 'Rename' }).click();
  await page.getByRole('heading', { level: 1, name: 'after' }).waitFor();
  await page.getByRole('button', { name: 'Remove', exact: true }).click();
  await page.getByRole('button', { name: 'Remove this node?' }).click();
  await machine(page, 'cabin').waitFor();
  const { nodes } = await here.gateway.get<{ nodes: { nodeId: string }[] }>('/api/nodes');
  expect(nodes.map((node) => node.nodeId)).not.toContain('after');
  expect(nodes.map((node) => node.nodeId)).toContain('cabin');
});
