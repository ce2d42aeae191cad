// The first minutes: a guide that ends with something that works, with a model and without one.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, describe, test } from 'vitest';
import { ModelServer } from './others';
import { house } from './visit';
import { agent, connected, enter, said, say } from './words';

describe('without a model', () => {
  const here = house();

  test('a newcomer is asked for the model first, and any step can be done or skipped; the progress is kept', async () => {
    const stranger = await here.stranger({ permissions: ['clipboard-read', 'clipboard-write'] });
    const page = await stranger.context.newPage();
    await enter(page, here.gateway.link);
    await page.getByRole('heading', { name: 'Get started' }).waitFor();
    await page.getByText('0 of 5 done').waitFor();
    const step = (name: string) => page.getByRole('region', { name, exact: true });
    await step('Choose a model').getByRole('radio', { name: 'Anthropic' }).waitFor();
    await step('Choose a model').getByRole('button', { name: 'Skip this step' }).click();
    await step('Start your first chat').getByRole('link', { name: 'Open chat' }).waitFor();
    await page.reload();
    await step('Choose a model').getByText('Skipped').waitFor();
    await step('Start your first chat').getByRole('button', { name: 'Skip this step' }).click();

    const client = step('Connect an AI client');
    await client.getByRole('button', { name: 'Create access token' }).click();
    await client.getByText(/shown only once/).waitFor();
    await page.getByText('1 of 5 done').waitFor();
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
    await page.getByRole('heading', { name: 'Get started' }).waitFor();
    const step = page.getByRole('region', { name: 'Choose a model' });
    await step.getByRole('radio', { name: 'Anthropic' }).check();
    await step.getByText(/sent to https:\/\/api\.anthropic\.com/).waitFor();
    await step.getByRole('link', { name: 'Get an API key' }).waitFor();
    await step.getByRole('radio', { name: 'The house' }).check();
    await step.getByText(`sent to ${server.url}`).waitFor();
    const form = step.getByRole('form', { name: 'Add a model' });

    await form.getByLabel('API key').fill(`Bearer ${KEY}`);
    await form.getByRole('button', { name: 'Save and test' }).click();
    await step.getByRole('alert').getByText(/white space/).waitFor();
    expect(await file(), 'nothing was written').not.toContain('models.providers');

    await form.getByLabel('API key').fill(WRONG);
    await form.getByRole('button', { name: 'Save and test' }).click();
    await step.getByRole('alert').getByText('Enter another key and save again').waitFor();
    expect(await step.getByRole('alert').innerText()).toContain('house/small');
    expect(await page.content()).not.toContain(WRONG);
    await form.getByLabel('API key').fill(KEY);
    await form.getByRole('button', { name: 'Save and test' }).click();
    await step.getByText(/house\/small responded in/).waitFor();

    const text = await file();
    expect(text).toContain('# mine');
    expect(text).toContain('# down the hall');
    expect(text).toContain('default = "house/small"');
    for (const shown of [text, await page.content()]) expect(shown).not.toContain(KEY);
    expect(server.keys.at(-1)).toBe(KEY);
    await step.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('region', { name: 'Start your first chat' }).getByRole('link', { name: 'Open chat' }).click();
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
    const card = page.getByRole('region', { name: 'Models' });
    await card.getByText('house/small is the default model.').waitFor();
    await card.getByRole('button', { name: 'Remove house' }).click();
    await card.getByRole('button', { name: 'Remove this provider? Remove house' }).click();
    await page.getByText(/house is still used by models\.default/).waitFor();

    await card.getByRole('button', { name: 'Add a provider' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add a provider' });
    const form = dialog.getByRole('form', { name: 'Add a provider' });
    const names = () => form.locator('datalist option').evaluateAll((all) => all.map((one) => (one as HTMLOptionElement).value));
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
    await dialog.getByRole('button', { name: 'Close' }).click();
    await card.getByText('open/large is the default model.').waitFor();
    expect(await file()).toContain('default = "open/large"');

    await card.getByRole('button', { name: 'Remove house' }).click();
    await card.getByRole('button', { name: 'Remove this provider? Remove house' }).click();
    await expect.poll(file).not.toContain('[models.providers.house]');
    await expect.poll(async () => (await here.gateway.get<{ names: string[] }>('/api/secrets')).names).toEqual(['open']);
  });
});

describe('with a model', () => {
  const here = house({ script: 'turns:\n  - when: { user: "" }\n    text: I am here.\n    usage: { input: 5, output: 3 }\n' });

  test('each step is marked done by what was done, and the end leads to the chat', async () => {
    const page = await here.open('welcome');
    const step = (name: string) => page.getByRole('region', { name, exact: true });
    await step('Choose a model').getByText('scripted/demo').waitFor();
    await step('Choose a model').getByRole('button', { name: /Choose a model/ }).click();
    await step('Choose a model').getByRole('button', { name: 'Test model' }).click();
    await page.getByText(/scripted\/demo responded in/).waitFor();
    await page.getByRole('button', { name: 'Continue' }).click();
    await step('Start your first chat').getByRole('link', { name: 'Open chat' }).click();
    await say(page, 'hello');
    await agent(page).getByText('I am here.').waitFor();
    const kept = async () => (await here.gateway.get<{ sessions: { sessionKey: string; messages: number }[] }>('/api/sessions')).sessions;
    await expect.poll(kept).toMatchObject([{ sessionKey: 'agent:main:main', messages: 2 }]);

    await page.goto(`${here.gateway.url}/#/welcome`);
    await page.getByText('2 of 5 done').waitFor();
    await step('Connect an AI client').getByRole('button', { name: 'Skip this step' }).click();
    await step('Add another machine').getByRole('button', { name: 'Add node' }).click();
    await page.getByRole('dialog', { name: 'Add a node' }).getByRole('button', { name: 'Close' }).click();
    await page.goto(`${here.gateway.url}/#/welcome`);
    await step('Add another machine').getByRole('button', { name: 'Skip this step' }).click();
    await step('Chat from your phone').getByRole('button', { name: 'Skip this step' }).click();
    await page.getByRole('region', { name: 'You are all set' }).getByRole('link', { name: 'Open chat' }).click();
    await page.getByRole('textbox', { name: 'Message' }).waitFor();
  });

  test('who has a model comes to the chat at once', async () => {
    const page = await here.open();
    await page.getByRole('textbox', { name: 'Message' }).waitFor();
    await page.waitForLoadState('networkidle');
    expect(new URL(page.url()).hash).not.toContain('welcome');
  });
});
