// A real terminal on a node: keys go in, colours and sizes come back, and it is offered only where the node allows it.

import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { spawn } from 'node:child_process';
import { expect, inject, test } from 'vitest';
import { Program } from './gateway';
import { house } from './visit';

const here = house();

/** Starts a node that allows terminals. */
async function node(name: string): Promise<string> {
  const { code } = await here.gateway.post<{ code: string }>('/api/nodes/codes', { nodeId: name });
  const folder = join(here.gateway.folder, name);
  await mkdir(folder, { recursive: true });
  // A login shell: the system's profile sets another prompt for root.
  await writeFile(join(folder, '.profile'), "PS1='$ '\n");
  const env = { PATH: process.env.PATH ?? '', HOME: folder, MANYHANDS_HOME: await mkdtemp(join(here.gateway.folder, 'node-')), TZ: 'UTC', SHELL: '/bin/sh' };
  const args = ['node', '--url', here.gateway.url, '--code', code, '--workspace', folder, '--terminal'];
  here.gateway.beside(new Program(spawn(inject('binary'), args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })));
  await expect.poll(async () => (await here.gateway.get<{ nodes: { nodeId: string; online: boolean; terminal?: boolean }[] }>('/api/nodes')).nodes).toContainEqual(expect.objectContaining({ nodeId: name, online: true, terminal: true }));
  return folder;
}

test('what is typed runs on the node, in colour, at the size of the window', async () => {
  const folder = await node('shell');
  const page = await here.open('nodes/shell/terminal');
  const input = page.getByRole('textbox', { name: 'Terminal on shell' });
  await input.waitFor();
  const rows = page.locator('.xterm-rows');
  await expect.poll(() => rows.innerText()).toContain('$');
  await page.keyboard.type("printf '\\033[38;2;10;200;30mgreen\\033[0m %s\\n' \"$PWD\"\n");
  await expect.poll(() => rows.innerText()).toContain(`green ${folder}`);
  // The policy of the page takes no style attributes: colours come another way.
  const green = rows.locator('span', { hasText: /^green$/ }).first();
  expect(await green.evaluate((span) => getComputedStyle(span).color)).toMatch(/^rgb\(/);
  await page.keyboard.type('stty size\n');
  await expect.poll(() => rows.innerText()).toMatch(/\n\d+ \d+/);
  const size = async () => Number(/(\d+) (\d+)\s*\n[^\n]*\$?[^\n]*$/.exec((await rows.innerText()).trimEnd())?.[2] ?? 0);
  const before = await size();
  await page.setViewportSize({ width: 800, height: 860 });
  await page.keyboard.type('clear; stty size\n');
  await expect.poll(size).toBeLessThan(before);
  await expect.poll(async () => (await here.gateway.get<{ entries: { tool: string }[] }>('/api/audit?limit=50')).entries.map((entry) => entry.tool)).toContain('shell__Terminal');
});

test('it stays open while other pages are shown, and ends with its shell', async () => {
  await node('stay');
  const page = await here.open('nodes/stay/terminal');
  const rows = page.locator('.xterm-rows');
  await expect.poll(() => rows.innerText()).toContain('$');
  await page.keyboard.type('kept=still-here\n');
  await page.getByRole('tab', { name: 'Log' }).click();
  await page.getByRole('log', { name: 'Log of stay' }).waitFor();
  await page.getByRole('tab', { name: 'Terminal' }).click();
  await page.getByRole('textbox', { name: 'Terminal on stay' }).focus();
  await page.keyboard.type('echo "$kept"\n');
  await expect.poll(() => rows.innerText()).toContain('still-here');
  await page.getByRole('button', { name: 'New terminal' }).click();
  await page.getByRole('button', { name: 'Terminal 2', exact: true }).waitFor();
  await expect.poll(() => rows.innerText()).toContain('$');
  await page.keyboard.type('exit 3\n');
  await page.getByText('exited with code 3').waitFor();
  await page.getByRole('button', { name: 'Start again' }).click();
  await page.getByText('exited with code 3').waitFor({ state: 'detached' });
});
