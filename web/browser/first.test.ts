// The first minutes: a guide that ends with something that works, with a model and without one.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, describe, test } from 'vitest';
import { ModelServer } from './others';
import { house } from './visit';
import { agent, connected, enter, said, say } from './words';

describe('without a model', () => {
  const here = house();

  test('the guide ends with a call that worked and a snippet that another program can use', async () => {
    const stranger = await here.stranger({ permissions: ['clipboard-read', 'clipboard-write'] });
    const page = await stranger.context.newPage();
    await enter(page, here.gateway.link);
    await page.getByRole('heading', { name: 'First steps' }).waitFor();
    await page.getByRole('button', { name: 'Write and read a note' }).click();
    await page.getByText(/The file says: Written from the page/).waitFor();
    const { entries } = await here.gateway.get<{ entries: { tool: string; status: string }[] }>('/api/audit?limit=20');
    for (const tool of ['gsv__WriteFile', 'gsv__ReadFile']) expect(entries).toContainEqual(expect.objectContaining({ tool, status: 'ok' }));

    await page.getByRole('button', { name: 'Make a token for it' }).click();
    await page.getByText(/shown this once/).waitFor();
    const snippet = JSON.parse(await page.getByRole('group', { name: 'json code' }).innerText()) as { mcpServers: { manyhands: { command: string; args: string[]; env: Record<string, string> } } };
    expect(snippet.mcpServers.manyhands).toMatchObject({ command: 'manyhands', args: ['mcp'] });
    const token = snippet.mcpServers.manyhands.env.MANYHANDS_TOKEN ?? '';
    // What is pasted works: an MCP client with that token is let in, and finds tools.
    const asked = await fetch(`${here.gateway.url}/mcp`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'editor', version: '1' } } }),
    });
    expect(asked.status).toBe(200);
    expect(await asked.text()).toContain('serverInfo');
  });

  test('a conversation without a model says what is missing and where to say it', async () => {
    const visitor = await here.visit();
    visitor.expected.add(400).add(409).add(503);
    const page = await visitor.open('chat/agent:main:early');
    await connected(page).waitFor();
    await say(page, 'is anybody there?');
    await said(page).getByText(/models\.default|no model/).first().waitFor();
  });
});

describe('a model is given from the page', () => {
  const KEY = 'sk-browser-0123456789abcdef';
  const WRONG = 'sk-wrong-0123456789abcdef';
  const server = new ModelServer(KEY, ['small', 'large']);
  const wanted = { config: '' };
  beforeAll(async () => {
    await server.start();
    // Only the machine's own file says where a key may go; the page chooses by name.
    wanted.config = `# mine\n[models.makers.house]\nkind = "openai"\ntitle = "The house" # down the hall\nbase_url = ${JSON.stringify(server.url)}\nmodel = "small"\n[models.makers.open]\nkind = "openai"\ntitle = "Without a usual one"\nbase_url = ${JSON.stringify(server.url)}\n`;
  });
  const here = house(wanted);
  afterAll(() => server.stop());
  const file = () => readFile(join(here.gateway.home, 'config.toml'), 'utf8');

  test('choose, paste, press: the guide ends with an agent that answers', async () => {
    const visitor = await here.visit();
    visitor.expected.add(400).add(401).add(502).add(503);
    const page = await visitor.open();
    await page.getByRole('heading', { name: 'First steps' }).waitFor();
    const form = page.getByRole('form', { name: 'Add a provider' });
    await form.getByText(/key is sent to https:\/\/api\.anthropic\.com/).waitFor();
    await form.getByLabel('Provider').selectOption('The house');
    await form.getByText(`is sent to ${server.url}`).waitFor();
    await form.getByText('Or add it to config.toml').click();
    await form.getByText('api_key = "vault:house"').waitFor();

    await form.getByLabel('API key').fill(`Bearer ${KEY}`);
    await form.getByRole('button', { name: 'Save and test' }).click();
    await form.getByRole('alert').getByText(/white space/).waitFor();
    expect(await file(), 'nothing was written').not.toContain('models.providers');

    await form.getByLabel('API key').fill(WRONG);
    await form.getByRole('button', { name: 'Save and test' }).click();
    await form.getByRole('alert').getByText('paste another one and press again').waitFor();
    expect(await form.getByRole('alert').innerText()).toContain('house/small');
    expect(await page.content()).not.toContain(WRONG);
    await form.getByLabel('API key').fill(KEY);
    await form.getByRole('button', { name: 'Save and test' }).click();
    await page.getByText(/house\/small replied in .*/).waitFor();

    const text = await file();
    expect(text).toContain('# mine');
    expect(text).toContain('# down the hall');
    expect(text).toContain('default = "house/small"');
    for (const shown of [text, await page.content()]) expect(shown).not.toContain(KEY);
    expect(server.keys.at(-1)).toBe(KEY);
    await page.getByRole('link', { name: 'Talk' }).click();
    await say(page, 'hello');
    await agent(page).getByText('I am here.').waitFor();
    const { entries } = await here.gateway.get<{ entries: object[] }>('/api/audit?limit=50');
    expect(entries).toContainEqual(expect.objectContaining({ tool: 'model.add' }));
    expect(JSON.stringify(entries)).not.toContain(KEY);
  });

  test('later, under Settings: one is added by what it offers, and one is removed', async () => {
    const visitor = await here.visit();
    visitor.expected.add(409);
    const page = await visitor.open('settings');
    const card = page.getByRole('region', { name: 'Models', exact: true });
    await card.getByText('house/small is the default model.').waitFor();
    await card.getByRole('button', { name: 'Remove house' }).click();
    await card.getByRole('button', { name: 'Remove this provider? Remove house' }).click();
    await page.getByText(/house is still used by models\.default/).waitFor();

    await card.getByRole('button', { name: 'Add a provider' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add a provider' });
    const form = dialog.getByRole('form', { name: 'Add a provider' });
    const names = () => form.locator('#offered-models option').evaluateAll((all) => all.map((one) => (one as HTMLOptionElement).value));
    await form.getByLabel('Provider').selectOption('The house (configured)');
    await expect.poll(names).toEqual(['small', 'large']);
    await form.getByLabel('Provider').selectOption('Without a usual one');
    await form.getByLabel('API key').fill(KEY);
    await form.getByRole('button', { name: 'Save and test' }).click();
    await form.getByText('2 models are available').waitFor();
    await expect.poll(names).toEqual(['small', 'large']);
    await form.getByLabel('Model', { exact: true }).fill('large');
    await form.getByRole('button', { name: 'Save and test' }).click();
    await form.getByText(/open\/large replied in/).waitFor();
    await page.keyboard.press('Escape');
    await card.getByText('open/large is the default model.').waitFor();
    expect(await file()).toContain('default = "open/large"');

    // Each provider is a card with its models: another becomes the default, and is tested.
    const open = card.getByRole('article', { name: 'open' });
    await open.getByText('1 more model offered').click();
    await open.getByRole('button', { name: 'Test open/small' }).click();
    await open.getByText(/Replied “/).waitFor();
    await open.getByRole('button', { name: 'Make open/small the default' }).click();
    await card.getByText('open/small is the default model.').waitFor();
    expect(await file()).toContain('default = "open/small"');

    await card.getByRole('button', { name: 'Remove house' }).click();
    await card.getByRole('button', { name: 'Remove this provider? Remove house' }).click();
    await expect.poll(file).not.toContain('[models.providers.house]');
    await expect.poll(async () => (await here.gateway.get<{ names: string[] }>('/api/secrets')).names).toEqual(['open']);
  });
});

describe('with a model', () => {
  const here = house({ script: 'turns:\n  - when: { user: "" }\n    text: I am here.\n    usage: { input: 5, output: 3 }\n' });

  test('the guide ends with an agent that answers', async () => {
    const page = await here.open('welcome');
    await page.getByRole('button', { name: 'Ask it for a word' }).click();
    await page.getByText(/scripted\/demo (answers, in|replied in)/).waitFor();
    await page.getByRole('link', { name: 'Talk' }).click();
    await say(page, 'hello');
    await agent(page).getByText('I am here.').waitFor();
    const kept = async () => (await here.gateway.get<{ sessions: { sessionKey: string; messages: number }[] }>('/api/sessions')).sessions;
    await expect.poll(kept).toMatchObject([{ sessionKey: 'agent:main:main', messages: 2 }]);
  });

  test('who has a model comes to the chat at once', async () => {
    const page = await here.open();
    await page.getByRole('textbox', { name: 'Message' }).waitFor();
    await page.waitForLoadState('networkidle');
    expect(new URL(page.url()).hash).not.toContain('welcome');
  });
});
