// Other machines: they come and go while one looks, and lend their programs and files.

import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import type { Program } from './gateway';
import { house } from './visit';
import { connected } from './words';

const here = house();
const machine = (page: Page, name: string) => page.getByRole('article', { name, exact: true });

/** Asks the page for a code, and starts a machine with it. */
async function lend(page: Page, name: string): Promise<{ program: Program; folder: string }> {
  await page.getByRole('button', { name: 'Add a machine' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add a machine' });
  await dialog.getByRole('textbox', { name: 'What it will be called' }).fill(name);
  await dialog.getByRole('button', { name: 'Make a code' }).click();
  const command = await dialog.getByRole('group', { name: 'text' }).innerText();
  const [, url, code] = /^manyhands node --url (\S+) --code (\S+)\s*$/.exec(command) ?? [];
  expect(url).toBe(here.gateway.url);
  await dialog.getByRole('button', { name: 'Close' }).click();
  const folder = join(here.gateway.folder, name);
  return { program: await here.gateway.node(code ?? '', folder), folder };
}

test('a machine that is added by a code of the page appears by itself, and is seen to go', async () => {
  const visitor = await here.visit();
  visitor.expected.add(404).add(503); // what is asked of a machine that has just gone
  const page = await visitor.open('nodes');
  await page.getByText('No machine is lent yet').waitFor();
  // No other page is loaded from here on.
  await page.evaluate(() => Object.assign(window, { same: true }));
  const { program } = await lend(page, 'laptop');
  await machine(page, 'laptop').getByText('online', { exact: true }).waitFor();
  const { nodes } = await here.gateway.get<{ nodes: { nodeId: string; online: boolean; tools: string[] }[] }>('/api/nodes');
  expect(nodes).toMatchObject([{ nodeId: 'laptop', online: true }]);
  await machine(page, 'laptop').getByRole('link', { name: 'laptop' }).click();
  await page.getByRole('region', { name: 'laptop' }).getByRole('link', { name: 'Bash' }).waitFor();

  await program.kill();
  await machine(page, 'laptop').getByText('offline', { exact: true }).waitFor();
  await page.getByText('It is not connected now.').waitFor();
  expect(await page.evaluate(() => 'same' in window)).toBe(true);
});

test('a program in the background is started, watched, spoken to and ended', async () => {
  const page = await here.open('nodes');
  await connected(page).waitFor();
  await lend(page, 'desk');
  await machine(page, 'desk').getByText('online', { exact: true }).waitFor();
  await machine(page, 'desk').getByRole('link', { name: 'Terminal' }).click();
  await page.getByRole('textbox', { name: 'Command to start in the background' }).fill('echo begun; while read -r line; do echo "heard $line"; done');
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  const screen = page.getByRole('log', { name: 'What it prints' });
  await screen.getByText('begun').waitFor();
  type Processes = { sessions: { sessionId: string; status: string; pid: number }[] };
  const processes = () => here.gateway.call<Processes>('desk__Process', { action: 'list' });
  expect((await processes()).sessions).toMatchObject([{ status: 'running' }]);

  await page.getByRole('textbox', { name: 'A line for its input' }).fill('these words');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await screen.getByText('heard these words').waitFor();

  await page.getByRole('button', { name: 'End', exact: true }).click();
  await page.getByRole('button', { name: 'End it?' }).click();
  await expect.poll(async () => (await processes()).sessions[0]?.status).not.toBe('running');
  await page.getByRole('button', { name: 'End', exact: true }).waitFor({ state: 'detached' });
  const programs = page.getByRole('list', { name: 'Programs' });
  await programs.getByText('ended by SIGKILL').waitFor();
  // One that is not looked at by anybody is told apart by why it ended.
  await here.gateway.call('desk__Bash', { command: 'exec sleep 600', background: true, timeout: 20 });
  await programs.getByText('stopped: its time was up').waitFor();
});

test('a program that is started here may run for a day, and its time goes on', async () => {
  const page = await here.open('nodes');
  await connected(page).waitFor();
  await lend(page, 'porch');
  await machine(page, 'porch').getByText('online', { exact: true }).waitFor();
  await page.goto(`${here.gateway.url}/#/nodes/porch/processes`);
  await page.getByRole('textbox', { name: 'Command to start in the background' }).fill('exec sleep 600');
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
  await machine(page, 'shed').getByText('online', { exact: true }).waitFor();
  const until = (file: string) => `until [ -e ${file} ]; do sleep 0.05; done`;
  const command = `echo first; ${until('one')}; echo second; ${until('two')}; echo third; ${until('three')}; echo fourth; exec sleep 600`;
  await here.gateway.call('shed__Bash', { command, background: true });
  await page.goto(`${here.gateway.url}/#/nodes/shed/processes`);
  await page.getByRole('list', { name: 'Programs' }).getByRole('button', { name: 'echo first' }).click();
  const screen = page.getByRole('log', { name: 'What it prints' });
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
  await machine(page, 'attic').getByText('online', { exact: true }).waitFor();
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
  await page.getByRole('navigation', { name: 'Folders above' }).getByRole('button', { name: folder }).click();
  await files.getByRole('option', { name: 'load.bin' }).click();
  const shown = page.getByRole('region', { name: 'load.bin' });
  await shown.getByText(/binary file/i).waitFor();
  await shown.getByRole('button', { name: 'To the workspace' }).click();
  await page.getByRole('region', { name: 'Transfers' }).getByText('there', { exact: true }).waitFor();
  await here.gateway.call('gsv__Transfer', { source: 'gsv:load.bin', destination: `attic:${join(folder, 'back.bin')}` });
  expect((await readFile(join(folder, 'back.bin'))).equals(bytes)).toBe(true);
});

test('a file is carried over with its progress shown, and every byte arrives', async () => {
  const page = await here.open('nodes');
  const { folder } = await lend(page, 'van');
  const bytes = randomBytes(24_000_000);
  await writeFile(join(folder, 'load.bin'), bytes);
  await machine(page, 'van').getByText('online', { exact: true }).waitFor();
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
  await transfers.getByRole('button', { name: 'Carry over' }).click();
  await transfers.getByText('there', { exact: true }).waitFor();
  const seen = await page.evaluate(() => (window as unknown as { seen: number[] }).seen);
  expect(seen.some((share) => share > 0 && share <= 1), JSON.stringify(seen)).toBe(true);

  await transfers.getByRole('combobox', { name: 'From' }).fill('gsv:carried.bin');
  await transfers.getByRole('combobox', { name: 'To' }).fill(`van:${join(folder, 'back.bin')}`);
  await transfers.getByRole('button', { name: 'Carry over' }).click();
  await expect.poll(() => transfers.getByText('there', { exact: true }).count()).toBe(2);
  const digest = (of: Buffer) => createHash('sha256').update(of).digest('hex');
  expect(digest(await readFile(join(folder, 'back.bin')))).toBe(digest(bytes));
});

test('a transfer that cannot be made says why', async () => {
  const page = await here.open('nodes');
  await connected(page).waitFor();
  const transfers = page.getByRole('region', { name: 'Transfers' });
  await transfers.getByRole('combobox', { name: 'From' }).fill('nobody:/etc/hosts');
  await transfers.getByRole('combobox', { name: 'To' }).fill('gsv:hosts');
  await transfers.getByRole('button', { name: 'Carry over' }).click();
  await transfers.getByText(/nobody/).nth(1).waitFor();
  expect((await here.gateway.ask('POST', '/api/tools/gsv__ReadFile', { path: 'hosts' })).code).toBe('not_found');
});
