// Conversations as the gateway keeps them: titles, search, order, branches, sub-agents, and how turns ended.

import { expect, test } from 'vitest';
import { house } from './visit';
import { agent, connected, message, said, say, you } from './words';

const here = house({
  config: `
[sessions.reset]
mode = "manual"
[agents.researcher]
system_prompt = "You research."
[[policy.rules]]
decision = "allow"
tools = ["spawn"]
`,
  script: `
models: [demo, other]
title: Blue teapots
turns:
  - when: { user: who are you }
    text: An agent.
  - when: { user: forever }
    deltas: ["The first words", " and the last ones"]
    between_ms: 3600000
  - when: { user: break once }
    times: 1
    error: { kind: auth, message: the key was rejected }
  - when: { user: break once }
    text: Now it works.
  - when: { user: delegate }
    calls: [{ id: s1, name: spawn, arguments: { task: "count teapots for ever", tools: [gsv__ReadFile] } }]
  - when: { user: count teapots }
    deltas: ["Seven so far", " and on"]
    between_ms: 3600000
  - when: { result_of: spawn }
    text: They were counted.
  - when: { user: think }
    thinking: "Numbers first."
    text: Four.
  - when: { user: "" }
    text: A teapot is a vessel for steeping leaves.
    usage: { input: 1200, output: 9 }
`,
});

let conversations = 0;
const fresh = () => `agent:main:server-${(conversations += 1)}`;
const name = (key: string) => key.split(':').at(-1) ?? '';
const tell = (sessionKey: string, words: string) => here.gateway.post('/api/chat', { sessionKey, message: words });
type Listed = { sessionKey: string; agent: string; title?: string; pinned?: boolean; archived?: boolean; folder?: string };
const listed = async (query = '') => (await here.gateway.get<{ sessions: Listed[] }>(`/api/sessions${query}`)).sessions;
const found = async (key: string) => (await listed()).find((one) => one.sessionKey === key);

test('a new conversation with another agent is answered by that agent', async () => {
  const page = await here.open('chat');
  await connected(page).waitFor();
  await page.getByRole('button', { name: 'New conversation' }).click();
  await page.getByRole('menuitem', { name: 'researcher' }).click();
  await say(page, 'who are you?');
  await agent(page).getByText('An agent.').waitFor();
  await expect.poll(async () => (await listed()).map((one) => one.sessionKey).filter((key) => /^agent:researcher:talk-/.test(key)).length).toBe(1);
  const own = (await listed()).filter((one) => one.sessionKey.startsWith('agent:researcher:'));
  expect(own.map((one) => one.agent)).toEqual(['researcher']);
  expect((await listed()).filter((one) => one.sessionKey.startsWith('agent:main:talk-'))).toEqual([]);
});

test('a new conversation gets the title that the model gave it, without a reload', async () => {
  const page = await here.open('chat/new');
  await say(page, 'Tell me about pots for tea, please');
  await page.getByRole('heading', { level: 1, name: /^(Tell me about pots for tea, please|Blue teapots)$/ }).waitFor();
  await page.getByRole('heading', { level: 1, name: 'Blue teapots' }).waitFor();
  await page.getByRole('listbox', { name: 'Conversations' }).getByRole('option', { name: 'Blue teapots' }).first().waitFor();
});

test('what was said is found while it is typed, and a match is jumped to and marked', async () => {
  const key = fresh();
  await tell(key, 'the xylophone stands in the attic');
  for (let at = 0; at < 45; at += 1) await tell(key, `something else, number ${at}`);
  const page = await here.open('chat');
  await connected(page).waitFor();
  await page.getByRole('searchbox', { name: 'Search conversations' }).pressSequentially('xyloph');
  const matches = page.getByRole('region', { name: 'Messages' }).getByRole('link');
  await expect.poll(() => matches.count()).toBe(1);
  await matches.locator('mark').getByText(/^xyloph/).waitFor();
  await matches.first().click();
  await page.getByRole('heading', { level: 1, name: name(key) }).waitFor();
  const words = you(page).getByText('the xylophone stands in the attic');
  await words.waitFor();
  await expect.poll(() => words.evaluate((node) => {
    const { top, bottom } = node.getBoundingClientRect();
    return top > 0 && bottom < window.innerHeight;
  })).toBe(true);
  await expect.poll(() => page.evaluate(() => [...(CSS.highlights.get('found') ?? [])].map((range) => range.toString().toLowerCase()))).toEqual(['xyloph']);
  // What is nowhere is not found, and says so.
  await page.getByRole('searchbox').fill('zzzzqqq');
  await page.getByText('No results').waitFor();
});

test('conversations are renamed, pinned, put into folders and archived', async () => {
  const [one, other] = [fresh(), fresh()];
  await tell(one, 'hello');
  await tell(other, 'hello');
  const page = await here.open(`chat/${one}`);
  const list = page.getByRole('listbox', { name: 'Conversations' });
  const act = async (what: string) => {
    await page.getByRole('button', { name: 'Conversation actions' }).click();
    await page.getByRole('menuitem', { name: what, exact: true }).click();
  };
  await list.getByRole('option', { name: name(one), exact: false }).first().waitFor();
  await act('Pin');
  await expect.poll(async () => (await found(one))?.pinned).toBe(true);
  await expect.poll(() => list.getByRole('option').first().innerText()).toContain(name(one));
  await act('Unpin');
  await expect.poll(async () => (await found(one))?.pinned).toBe(false);

  await act('Move to folder');
  const move = page.getByRole('dialog', { name: 'Move to folder' });
  await move.getByLabel('Folder').fill('Kitchen');
  await move.getByRole('button', { name: 'Save' }).click();
  await move.waitFor({ state: 'detached' });
  await expect.poll(async () => (await found(one))?.folder).toBe('Kitchen');
  await page.getByRole('combobox', { name: 'Folder' }).selectOption('Kitchen');
  await expect.poll(() => list.getByRole('option').count()).toBe(1);
  await page.getByRole('combobox', { name: 'Folder' }).selectOption('All conversations');

  await act('Rename');
  await page.getByRole('dialog', { name: 'Rename conversation' }).getByLabel('Name').fill('My kettle');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'My kettle' }).waitFor();

  await act('Archive');
  await expect.poll(async () => (await listed('?archived=true')).map((entry) => entry.sessionKey)).toEqual([one]);
  await list.getByRole('option', { name: 'My kettle' }).waitFor({ state: 'detached' });
  await page.getByRole('combobox', { name: 'Folder' }).selectOption('Archived');
  await list.getByRole('option', { name: 'My kettle' }).waitFor();
  await act('Restore from archive');
  await expect.poll(async () => (await found(one))?.archived).toBe(false);
});

test('a conversation is branched before a message, and the original stays as it was', async () => {
  const key = fresh();
  await tell(key, 'the first question');
  await tell(key, 'the second question');
  const page = await here.open(`chat/${key}`);
  const second = you(page).filter({ hasText: 'the second question' });
  await second.hover();
  await second.getByRole('button', { name: 'Branch from here' }).click();
  await expect.poll(() => page.url()).not.toContain(encodeURIComponent(key));
  await you(page).filter({ hasText: 'the first question' }).waitFor();
  await expect.poll(() => you(page).count()).toBe(1);
  await say(page, 'another second question');
  await expect.poll(() => agent(page).count()).toBe(2);
  const before = await here.gateway.get<{ messages: unknown[] }>(`/api/sessions/${encodeURIComponent(key)}/messages`);
  expect(before.messages).toHaveLength(4);
});

test('a reply that was stopped is there after a reload, marked', async () => {
  const page = await here.open(`chat/${fresh()}`);
  await say(page, 'talk forever');
  await agent(page).getByText('The first words', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await agent(page).getByText('Stopped', { exact: true }).waitFor();
  await page.reload();
  const stopped = agent(page).filter({ hasText: 'The first words' });
  await stopped.getByText('Stopped', { exact: true }).waitFor();
});

test('the reasoning of a reply is there after a reload', async () => {
  const page = await here.open(`chat/${fresh()}`);
  await say(page, 'think of two and two');
  await agent(page).getByText('Four.').waitFor();
  await page.reload();
  await agent(page).getByText('Reasoning', { exact: true }).click();
  await agent(page).getByText('Numbers first.').waitFor();
});

test('why a turn failed is there after a reload, with Try again, and the next message is one of its own', async () => {
  const page = await here.open(`chat/${fresh()}`);
  await say(page, 'please break once');
  const failure = said(page).getByRole('group', { name: 'Error' });
  await failure.waitFor();
  await page.reload();
  await failure.getByText('the key was rejected').waitFor();
  await say(page, 'something else');
  await agent(page).getByText('A teapot is').waitFor();
  await page.reload();
  await agent(page).getByText('A teapot is').waitFor();
  await expect.poll(() => you(page).count(), { message: 'two messages' }).toBe(2);
  expect(await failure.count()).toBe(1);
});

test('a sub-agent is a thread inside its conversation, with a stop button of its own', async () => {
  const page = await here.open(`chat/${fresh()}`);
  await say(page, 'delegate it');
  const thread = said(page).getByRole('group', { name: /^Sub-agent/ });
  await thread.getByText('Working', { exact: true }).waitFor();
  await thread.locator('summary').first().click();
  await thread.getByText('Seven so far').waitFor();
  await thread.getByRole('button', { name: 'Stop' }).click();
  await agent(page).getByText('They were counted.').waitFor();
  await thread.getByText('Working', { exact: true }).waitFor({ state: 'detached' });
});

test('the header says how much context is used and what the conversation cost', async () => {
  const page = await here.open(`chat/${fresh()}`);
  await say(page, 'hello');
  await agent(page).getByText('A teapot is').waitFor();
  await page.getByRole('meter', { name: 'Context' }).waitFor();
  await page.getByTitle(/^1\.2k of \S+ tokens of context used$/i).waitFor();
  await page.getByTitle('Cost', { exact: true }).waitFor();
});

test('dictation is offered only where the gateway transcribes', async () => {
  const page = await here.open(`chat/${fresh()}`);
  await message(page).waitFor();
  await connected(page).waitFor();
  expect((await here.gateway.get<{ transcription: boolean }>('/api/session')).transcription).toBe(false);
  expect(await page.getByRole('button', { name: 'Dictate' }).count()).toBe(0);
});
