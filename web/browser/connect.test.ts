// Servers, nodes, channels and Get started in every state: nobody is kept out, on a desktop and on a phone, in dark and light.

import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { barriers, tooWide } from './barriers';
import { soon } from './gateway';
import { McpServer, Telegram } from './others';
import { DESKTOP, PHONE, house } from './visit';

const telegram = new Telegram();
const inputSchema = { type: 'object', properties: { city: { type: 'string' } } };
const sky = new McpServer([{ name: 'weather', description: 'Tells the weather of a city', inputSchema, answers: 'sunny' }]);
const wanted = { script: 'turns:\n  - when: { user: "" }\n    text: Hello.\n', config: '' };
beforeAll(async () => {
  await Promise.all([telegram.start(), sky.start()]);
  wanted.config = `[egress]\nallow_private = ["127.0.0.0/8"]\n[channels.telegram.accounts.default]\napi_url = "${telegram.url}"\n`;
});
afterAll(() => {
  telegram.stop();
  sky.stop();
});
const here = house(wanted);

beforeAll(async () => {
  const { gateway } = here;
  const { code } = await gateway.post<{ code: string }>('/api/nodes/codes', { nodeId: 'studio' });
  const folder = join(gateway.folder, 'studio');
  await mkdir(folder);
  await writeFile(join(folder, 'notes.md'), '# Notes\n');
  await gateway.node(code, folder);
  await soon('the node is connected', async () => (await gateway.get<{ nodes: { online: boolean }[] }>('/api/nodes')).nodes.some((node) => node.online));
  await gateway.post('/api/servers', { name: 'sky', server: { url: sky.url } });
  await soon('its tools are known', async () => (await gateway.ask('POST', '/api/servers/sky/refresh')).ok);
  sky.tools = [{ name: 'weather', description: 'Tells the weather, and more', inputSchema, answers: 'sunny' }];
  await gateway.post('/api/servers/sky/refresh');
  await gateway.post('/api/channels/telegram/default/login', { token: '7:a-token-of-a-bot-that-is-long-enough' });
  telegram.write({ id: 43, first_name: 'Grace Hopper', username: 'grace' }, 'May I talk to your agent?');
  await soon('somebody asks', async () => (await gateway.get<{ pairs: unknown[] }>('/api/pairs')).pairs.length > 0);
});

const add = (page: Page) => page.getByRole('dialog', { name: 'Add an MCP server' });
const STATES: [string, (page: Page) => Promise<unknown>][] = [
  ['nodes', (page) => page.getByRole('article', { name: 'studio' }).waitFor()],
  ['nodes/add', async (page) => {
    await page.getByRole('textbox', { name: 'Name' }).fill('pi');
    await page.getByText('Access and options').click();
    await page.getByRole('button', { name: 'Create command' }).click();
    await page.getByText('Waiting for pi').waitFor();
  }],
  ['nodes/studio/processes', (page) => page.getByText('No programs running').waitFor()],
  ['nodes/studio/files', async (page) => {
    await page.getByRole('option', { name: 'notes.md' }).click();
    await page.getByRole('region', { name: 'notes.md' }).getByRole('button', { name: 'Download' }).waitFor();
  }],
  ['nodes/studio/log', (page) => page.getByRole('log').getByText('connected', { exact: true }).waitFor()],
  ['nodes/studio/terminal', (page) => page.getByText('manyhands node --terminal').waitFor()],
  ['servers', (page) => page.getByRole('article', { name: 'sky' }).waitFor()],
  ['servers/sky', (page) => page.getByText('Pending tool definition changes').waitFor()],
  ['servers/sky/accounts', (page) => page.getByText(/No accounts/).waitFor()],
  ['servers/add', (page) => add(page).getByRole('list', { name: 'Catalog' }).getByRole('listitem').nth(20).waitFor()],
  ['servers/add', async (page) => {
    await add(page).getByRole('tab', { name: 'Remote URL' }).click();
    await add(page).getByText('Headers and options').click();
  }],
  ['servers/add', (page) => add(page).getByRole('tab', { name: 'Local command' }).click()],
  ['servers/add', (page) => add(page).getByRole('tab', { name: 'Paste JSON' }).click()],
  ['channels', (page) => page.getByRole('region', { name: 'Pairing requests' }).waitFor()],
  ['channels/add', (page) => page.getByRole('button', { name: /^Telegram/ }).waitFor()],
  ['channels/add', async (page) => {
    await page.getByRole('button', { name: /^Slack/ }).click();
    await page.getByText('Show manifest').click();
    await page.getByText('Options').click();
  }],
  ['channels', async (page) => {
    await page.getByRole('button', { name: 'Access' }).click();
    await page.getByRole('radio', { name: /Everybody/ }).check();
  }],
  ['welcome', (page) => page.getByText(/of 5 done/).waitFor()],
  ['welcome', async (page) => {
    await page.getByRole('region', { name: 'Choose a model' }).getByRole('button').first().click();
    await page.getByRole('button', { name: 'Choose another' }).click();
    await page.getByRole('radio', { name: 'Other endpoint' }).check();
  }],
];

describe.each([
  ['on a desktop', { viewport: DESKTOP, colorScheme: 'light' }],
  ['on a phone', { viewport: PHONE, colorScheme: 'light', hasTouch: true }],
] as [string, BrowserContextOptions][])('%s', (_name, options) => {
  test('no state keeps anybody out, and none is wider than the screen', { timeout: 300_000 }, async () => {
    const visitor = await here.visit(options);
    const wrong: string[] = [];
    for (const [place, act] of STATES) {
      const page = await visitor.open(place);
      await visitor.settled(page);
      await act(page);
      for (const one of await barriers(page)) wrong.push(`${place}: ${one}`);
      const wide = await tooWide(page);
      if (wide > 0) wrong.push(`${place} is ${wide} pixels too wide`);
      await page.close();
    }
    expect(wrong).toEqual([]);
  });
});
