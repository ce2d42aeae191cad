// The first minutes: a guide that ends with something that works, with a model and without one.

import { expect, describe, test } from 'vitest';
import { house } from './visit';
import { agent, connected, said, say } from './words';

describe('without a model', () => {
  const here = house();

  test('the guide ends with a call that worked and a snippet that another program can use', async () => {
    const stranger = await here.stranger({ permissions: ['clipboard-read', 'clipboard-write'] });
    const page = await stranger.context.newPage();
    await page.goto(here.gateway.link);
    await page.getByRole('heading', { name: 'First steps' }).waitFor();
    await page.getByRole('button', { name: 'Write and read a note' }).click();
    await page.getByText(/The file says: Written from the page/).waitFor();
    const { entries } = await here.gateway.get<{ entries: { tool: string; status: string }[] }>('/api/audit?limit=20');
    for (const tool of ['gsv__WriteFile', 'gsv__ReadFile']) expect(entries).toContainEqual(expect.objectContaining({ tool, status: 'ok' }));

    await page.getByRole('button', { name: 'Make a token for it' }).click();
    await page.getByText(/shown this once/).waitFor();
    const snippet = JSON.parse(await page.getByRole('region', { name: 'json code' }).innerText()) as { mcpServers: { manyhands: { command: string; args: string[]; env: Record<string, string> } } };
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

describe('with a model', () => {
  const here = house({ script: 'turns:\n  - when: { user: "" }\n    text: I am here.\n    usage: { input: 5, output: 3 }\n' });

  test('the guide ends with an agent that answers', async () => {
    const page = await here.open('welcome');
    await page.getByRole('button', { name: 'Ask it for a word' }).click();
    await page.getByText(/scripted\/demo answers, in/).waitFor();
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
