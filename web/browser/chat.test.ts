// A conversation with a scripted model: everything but the model is real.

import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { house } from './visit';
import { agent, connected, drop, message, said, say, unfold, you } from './words';

const here = house({
  config: `
[sessions.reset]
mode = "manual"
[[policy.rules]]
decision = "ask"
tools = ["gsv__WriteFile"]
when.path.contains = "-note"
reason = "writing needs a nod"
`,
  script: `
models: [demo, other]
turns:
  - when: { user: recipe }
    deltas: ["## Pancakes\\n\\nMix **well**, then:\\n\\n", "1. flour\\n2. milk\\n\\n", "\`\`\`js\\nconst eggs = 2;\\n\`\`\`\\n"]
    usage: { input: 1000, output: 200 }
  - when: { user: forever }
    deltas: ["The first words", " and the last ones"]
    between_ms: 3600000
  - when: { user: look at notes }
    text: I look.
    calls: [{ id: c1, name: gsv__ReadFile, arguments: { path: memory/ } }]
  - when: { result_of: gsv__ReadFile }
    text: I have looked.
  - when: { user: write the good note }
    calls: [{ id: c2, name: gsv__WriteFile, arguments: { path: memory/good-note.md, content: "exactly this\\n" } }]
  - when: { user: do two things }
    calls: [{ id: t1, name: gsv__ReadFile, arguments: { path: memory/ } }, { id: t2, name: gsv__WriteFile, arguments: { path: memory/second-note.md, content: never } }]
  - when: { user: write the bad note }
    calls: [{ id: c3, name: gsv__WriteFile, arguments: { path: memory/bad-note.md, content: never } }]
  - when: { result_of: gsv__WriteFile }
    text: So be it.
  - when: { user: what is this }
    text: I see what you sent.
  - when: { user: hello }
    text: Good morning.
    usage: { input: 10, output: 5 }
`,
});

let conversations = 0;
/** A conversation of its own for each test. */
const fresh = () => `agent:main:browser-${(conversations += 1)}`;
const history = (key: string) => here.gateway.get<{ messages: unknown[] }>(`/api/sessions/${encodeURIComponent(key)}/messages`);
const file = (path: string) => here.gateway.ask<{ content: string }>('POST', '/api/tools/gsv__ReadFile', { path });

test('a reply is shown while it comes, and stopping ends it', async () => {
  const key = fresh();
  const page = await here.open(`chat/${key}`);
  await say(page, 'talk forever');
  // The rest of it would come in an hour.
  await agent(page).getByText('The first words', { exact: true }).waitFor();
  const busy = async () => (await here.gateway.get<{ sessions: { sessionKey: string; busy: boolean }[] }>('/api/sessions')).sessions.find((one) => one.sessionKey === key)?.busy;
  expect(await busy()).toBe(true);
  await page.getByRole('button', { name: 'Stop' }).click();
  await said(page).getByText('Stopped', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' });
  await expect.poll(busy).toBe(false);
  expect(await agent(page).getByText('the last ones').count()).toBe(0);
});

test('Markdown and code are laid out, and the turn says what it cost', async () => {
  const page = await here.open(`chat/${fresh()}`);
  await say(page, 'a recipe please');
  const reply = agent(page).last();
  await reply.getByRole('heading', { name: 'Pancakes' }).waitFor();
  await reply.getByRole('strong').filter({ hasText: 'well' }).waitFor();
  await expect.poll(() => reply.getByRole('listitem').allInnerTexts()).toEqual(['flour', 'milk']);
  const code = reply.getByRole('group', { name: 'js code' });
  await expect.poll(async () => (await code.innerText()).trim()).toBe('const eggs = 2;');
  // 1000 tokens in at 3 dollars and 200 out at 15 dollars a million.
  await said(page).getByText(/1k tokens in · 200 out · \$0\.0060/).waitFor();
  const used = await here.gateway.get<{ rows: { model: string; costMicros: number }[] }>('/api/usage?days=1');
  expect(used.rows.map((row) => row.costMicros)).toContain(6_000);
});

test('a call of a tool is a folded card with its arguments, its result and how long it took', async () => {
  await here.gateway.call('gsv__WriteFile', { path: 'memory/found-by-the-card.md', content: 'x' });
  const page = await here.open(`chat/${fresh()}`);
  await say(page, 'look at notes');
  await agent(page).getByText('I have looked.').waitFor();
  const card = said(page).getByRole('group').filter({ hasText: 'gsv__ReadFile' });
  expect(await card.count()).toBe(1);
  expect(await card.getByText('Arguments').isVisible(), 'it is folded').toBe(false);
  await expect.poll(() => card.innerText()).toMatch(/Succeeded[^]*(\d ms|< 1 ms|\d s)/);
  await unfold(said(page), 'gsv__ReadFile');
  await card.getByText('memory/', { exact: true }).last().waitFor();
  await card.getByText('found-by-the-card.md').waitFor();
  await card.getByRole('link', { name: 'Show in activity' }).waitFor();
  const took = (await card.innerText()).match(/(\d+ ms|< 1 ms|[\d.]+ s)/)?.[0] ?? 'nothing';
  await page.reload();
  await expect.poll(() => card.innerText()).toContain(took);
});

test('what is typed and not sent is there again after another conversation, another page and a reload', async () => {
  const [one, other] = [fresh(), fresh()];
  const page = await here.open(`chat/${one}`);
  const to = (place: string) => page.evaluate((hash) => (location.hash = hash), `#/${place}`);
  await connected(page).waitFor();
  await message(page).fill('half a thought');
  await to(`chat/${other}`);
  await expect.poll(() => message(page).inputValue()).toBe('');
  await message(page).fill('another');
  await to('settings');
  await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor();
  await to(`chat/${one}`);
  await expect.poll(() => message(page).inputValue()).toBe('half a thought');
  await page.reload();
  await expect.poll(() => message(page).inputValue()).toBe('half a thought');
  await say(page, 'hello');
  await agent(page).getByText('Good morning.').waitFor();
  await page.reload();
  await agent(page).getByText('Good morning.').waitFor();
  await expect.poll(() => message(page).inputValue(), { message: 'what was sent is no draft' }).toBe('');
  await to(`chat/${other}`);
  await expect.poll(() => message(page).inputValue()).toBe('another');
});

test('what is said while the agent works waits below, also after a reload, and stands before its answer', async () => {
  const key = fresh();
  const page = await here.open(`chat/${key}`);
  await say(page, 'talk forever');
  await agent(page).getByText('The first words', { exact: true }).waitFor();
  await say(page, 'hello');
  await you(page).getByText('hello').waitFor();
  await say(page, 'a recipe please');
  const waits = you(page).getByText('Queued', { exact: true });
  const order = async () => (await said(page).getByRole('article').allInnerTexts()).map((words) => /forever|first words|hello|Good morning|recipe|Pancakes/.exec(words)?.[0]);
  await expect.poll(() => waits.count()).toBe(2);
  await expect.poll(order).toEqual(['forever', 'first words', 'hello', 'recipe']);
  // Whoever comes later sees the same: the reply from its beginning, and what waits.
  await page.reload();
  await expect.poll(() => waits.count()).toBe(2);
  await expect.poll(order).toEqual(['forever', 'first words', 'hello', 'recipe']);
  await page.getByRole('button', { name: 'Stop' }).click();
  await agent(page).getByRole('heading', { name: 'Pancakes' }).waitFor();
  await expect.poll(order).toEqual(['forever', 'first words', 'hello', 'Good morning', 'recipe', 'Pancakes']);
  await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' });
  expect(await waits.count()).toBe(0);
});

test('/undo takes back what is shown, and commands that choose are seen in what is chosen', async () => {
  const page = await here.open(`chat/${fresh()}`);
  await say(page, 'hello');
  await agent(page).getByText('Good morning.').waitFor();
  await say(page, '/undo');
  await expect.poll(() => agent(page).count()).toBe(0);
  await expect.poll(() => you(page).count()).toBe(0);
  await say(page, '/model scripted/other');
  await page.getByRole('button', { name: 'Model: scripted/other' }).waitFor();
  await say(page, '/think low');
  await expect.poll(() => page.getByRole('combobox', { name: 'Reasoning' }).inputValue()).toBe('low');
  await message(page).pressSequentially('/t');
  await page.getByRole('listbox', { name: 'Commands' }).getByRole('option', { name: '/t:' }).click();
  await expect.poll(() => message(page).inputValue()).toBe('/t:');
});

test('a new conversation has its name and its place in the list from when the agent begins', async () => {
  const page = await here.open('chat/new');
  await say(page, 'Please talk forever');
  await page.getByRole('heading', { level: 1, name: 'Please talk forever' }).waitFor();
  const row = page.getByRole('listbox', { name: 'Conversations' }).getByRole('option', { name: 'Please talk forever' });
  await row.getByText('Working', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await row.getByText('Working', { exact: true }).waitFor({ state: 'detached' });
});

test('of two calls only the one that is asked about waits, also for whoever comes later, and the list says that it asks', async () => {
  const key = fresh();
  const first = await here.open(`chat/${key}`);
  await say(first, 'do two things');
  await first.getByRole('article', { name: 'Approval needed for gsv__WriteFile' }).waitFor();
  const page = await here.open(`chat/${key}`);
  const ask = page.getByRole('article', { name: 'Approval needed for gsv__WriteFile' });
  await ask.waitFor();
  const card = (tool: string) => said(page).getByRole('group').filter({ hasText: tool }).first();
  await expect.poll(() => card('gsv__ReadFile').innerText()).toContain('Succeeded');
  await expect.poll(() => card('gsv__WriteFile').innerText()).toContain('Needs approval');
  const row = page.getByRole('listbox', { name: 'Conversations' }).getByRole('option', { name: key.split(':').at(-1) ?? '', exact: false }).first();
  await row.getByText('Needs approval', { exact: true }).waitFor();
  await ask.getByRole('button', { name: 'Deny', exact: true }).click();
  await agent(page).getByText(/I have looked|So be it/).first().waitFor();
  await row.getByText('Needs approval', { exact: true }).waitFor({ state: 'detached' });
});

test('what needs approval is shown exactly as it will run, and runs once it is approved', async () => {
  const page = await here.open(`chat/${fresh()}`);
  await say(page, 'write the good note');
  const ask = page.getByRole('article', { name: 'Approval needed for gsv__WriteFile' });
  await ask.waitFor();
  await ask.getByText('Show as JSON').click();
  const shown = JSON.parse(await ask.getByRole('group', { name: 'json code' }).innerText()) as unknown;
  expect(shown).toEqual({ path: 'memory/good-note.md', content: 'exactly this\n' });
  expect((await file('memory/good-note.md')).code, 'nothing was written yet').toBe('not_found');
  expect((await here.gateway.get<{ approvals: { arguments: unknown }[] }>('/api/approvals')).approvals.map((one) => one.arguments)).toContainEqual(shown);

  await ask.getByRole('button', { name: 'Allow once' }).click();
  await agent(page).getByText('So be it.').waitFor();
  await ask.waitFor({ state: 'detached' });
  expect((await file('memory/good-note.md')).result?.content).toBe('exactly this\n');
});

test('what is denied does not run', async () => {
  const page = await here.open(`chat/${fresh()}`);
  await say(page, 'write the bad note');
  const ask = page.getByRole('article', { name: 'Approval needed for gsv__WriteFile' });
  await ask.getByRole('button', { name: 'Deny', exact: true }).click();
  await agent(page).getByText('So be it.').waitFor();
  await ask.waitFor({ state: 'detached' });
  expect((await file('memory/bad-note.md')).code).toBe('not_found');
  const card = said(page).getByRole('group').filter({ hasText: 'gsv__WriteFile' });
  await expect.poll(() => card.innerText()).toContain('Denied');
  expect(await card.innerText(), 'it took no time').not.toMatch(/\d (ms|s)\b/);
});

test('a slash command is offered while it is typed, and answered without the model', async () => {
  const page = await here.open(`chat/${fresh()}`);
  await connected(page).waitFor();
  await message(page).pressSequentially('/sta');
  await page.getByRole('listbox', { name: 'Commands' }).getByRole('option', { name: '/status' }).waitFor();
  await message(page).press('Tab');
  await expect.poll(() => message(page).inputValue()).toBe('/status ');
  await message(page).press('Enter');
  await said(page).getByText(/scripted\/demo/).first().waitFor();
  expect(await agent(page).count(), 'no model spoke').toBe(0);
});

test('a picture that is dropped goes to the model, a file becomes an artifact', async () => {
  const key = fresh();
  const page = await here.open(`chat/${key}`);
  await connected(page).waitFor();
  const pixel = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');
  const bytes = Buffer.from([...Array(5_000).keys()].map((at) => at % 251));
  await drop(message(page), { name: 'pixel.png', type: 'image/png', bytes: pixel });
  await drop(message(page), { name: 'plan.bin', type: 'application/x-plan', bytes });
  await page.getByRole('img', { name: 'pixel.png' }).waitFor();
  await page.getByRole('button', { name: 'Remove plan.bin' }).waitFor();
  await say(page, 'what is this?');
  await agent(page).getByText('I see what you sent.').waitFor();
  await you(page).getByRole('img').waitFor();
  await you(page).getByRole('list', { name: 'Attachments' }).getByRole('link', { name: 'plan.bin' }).waitFor();
  expect(await you(page).innerText(), 'not as it is written for the model').not.toContain('[attached');

  const told = JSON.stringify((await history(key)).messages);
  expect(told).toContain('a picture');
  const { artifacts } = await here.gateway.get<{ artifacts: { id: string; name: string; size: number }[] }>('/api/artifacts');
  const kept = artifacts.find((one) => one.name === 'plan.bin');
  expect(told).toContain(kept?.id);
  const got = await fetch(`${here.gateway.url}/api/artifacts/${kept?.id}`, { headers: { authorization: `Bearer ${here.gateway.owner}` } });
  const digest = (of: Uint8Array) => createHash('sha256').update(of).digest('hex');
  expect(digest(new Uint8Array(await got.arrayBuffer()))).toBe(digest(bytes));
  // After a reload its bytes come from the gateway, which gives them to the page alone.
  await page.reload();
  const picture = you(page).getByRole('img');
  await expect.poll(() => picture.evaluate((image: HTMLImageElement) => image.complete && image.naturalWidth)).toBe(1);
  const source = (await picture.getAttribute('src')) ?? '';
  expect(source.startsWith(`blob:${here.gateway.url}/`), source).toBe(true);
});

test('a conversation is there after a reload, and in the list', async () => {
  const page = await here.open(`chat/${fresh()}`);
  await say(page, 'hello, keep me');
  await agent(page).getByText('Good morning.').waitFor();
  await page.reload();
  await you(page).getByText('hello, keep me').waitFor();
  await expect.poll(() => agent(page).allInnerTexts()).toEqual(['Good morning.']);
  await page.getByRole('listbox', { name: 'Conversations' }).getByRole('option').first().waitFor();
});

test('what a turn cost and took is said after a reload as it was before, also of turns from elsewhere', async () => {
  const key = fresh();
  const page = await here.open(`chat/${key}`);
  await say(page, 'a recipe please');
  const line = said(page).getByText(/1k tokens in · 200 out · \$0\.0060/);
  await line.waitFor();
  const live = await line.innerText();
  expect(live).toMatch(/^(< 1 ms|\d+ ms|\d+\.\d s|\d+ min \d+ s) · /);
  // Asked in another place.
  await here.gateway.post('/api/chat', { sessionKey: key, message: 'hello' });
  await said(page).getByText(/10 tokens in · 5 out/).waitFor();
  await page.reload();
  await line.waitFor();
  await expect.poll(() => line.innerText()).toBe(live);
  await said(page).getByText(/10 tokens in · 5 out/).waitFor();
  expect(await said(page).getByText(/tokens in · /).count(), 'each once').toBe(2);
  const kept = await here.gateway.get<{ messages: { usage?: { costMicros: number } }[] }>(`/api/sessions/${encodeURIComponent(key)}/messages`);
  expect(kept.messages.flatMap((one) => (one.usage ? [one.usage.costMicros] : []))).toEqual([6_000, 105]);
});

test('a conversation is deleted from the list once it is confirmed, by mouse and by keyboard, and other tabs say so', async () => {
  const [key, second] = [fresh(), fresh()];
  const name = (of: string) => of.split(':').at(-1) ?? '';
  await here.gateway.post('/api/chat', { sessionKey: second, message: 'hello' });
  const visitor = await here.visit();
  // What is no longer there is asked for once more.
  visitor.expected.add(404);
  const [page, other] = [await visitor.open(`chat/${key}`), await visitor.open(`chat/${key}`)];
  await say(page, 'hello, a marmalade');
  await agent(page).getByText('Good morning.').waitFor();
  await agent(other).getByText('Good morning.').waitFor();
  const list = page.getByRole('listbox', { name: 'Conversations' });
  const row = list.getByRole('option', { name: name(key) });
  const there = async (of: string) => (await here.gateway.ask('GET', `/api/sessions/${encodeURIComponent(of)}`)).status;
  const found = async () => (await here.gateway.get<{ count: number }>('/api/memory?query=marmalade')).count;
  await expect.poll(found).toBe(1);
  const remove = async () => {
    await row.hover();
    await row.getByTitle('Conversation actions').click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
  };
  await remove();
  const ask = page.getByRole('dialog', { name: `Delete ${name(key)}?` });
  await ask.getByText(/permanently deletes 2 messages/).waitFor();
  await ask.getByRole('button', { name: 'Cancel' }).click();
  await ask.waitFor({ state: 'detached' });
  expect(await there(key)).toBe(200);
  await remove();
  await ask.getByRole('button', { name: 'Delete' }).click();
  await row.waitFor({ state: 'detached' });
  await expect.poll(() => there(key)).toBe(404);
  await expect.poll(found).toBe(0);
  await page.getByRole('heading', { level: 1, name: 'Main' }).waitFor();

  await said(other).getByText('This conversation was deleted. The next message starts a new one.').waitFor();
  await expect.poll(() => you(other).count()).toBe(0);
  await say(other, 'hello anew');
  await agent(other).getByText('Good morning.').waitFor();
  await expect.poll(async () => (await history(key)).messages).toHaveLength(2);

  // The list has its order again.
  await row.getByText('2 messages').waitFor();
  await list.getByRole('option', { name: name(second) }).click();
  await page.getByRole('heading', { level: 1, name: name(second) }).waitFor();
  // Whoever opens one writes; whoever means the list goes back to it.
  await agent(page).getByText('Good morning.').waitFor();
  await list.focus();
  await list.press('Delete');
  const again = page.getByRole('dialog', { name: `Delete ${name(second)}?` });
  await again.getByRole('button', { name: 'Delete' }).focus();
  await page.keyboard.press('Enter');
  await expect.poll(() => there(second)).toBe(404);
});

test('two tabs see the same conversation live, the question too', async () => {
  const key = fresh();
  const visitor = await here.visit();
  const [one, other] = [await visitor.open(`chat/${key}`), await visitor.open(`chat/${key}`)];
  await connected(other).waitFor();
  await say(one, 'hello from the first');
  await agent(other).getByText('Good morning.').waitFor();
  await you(other).getByText('hello from the first').waitFor();
  await say(other, 'write the bad note');
  const ask = (page: typeof one) => page.getByRole('article', { name: 'Approval needed for gsv__WriteFile' });
  await ask(one).getByRole('button', { name: 'Deny', exact: true }).click();
  await ask(other).waitFor({ state: 'detached' });
  await agent(other).getByText('So be it.').waitFor();
  await expect.poll(() => you(one).allInnerTexts()).toHaveLength(2);
  expect(await agent(one).getByText('Good morning.').count(), 'and nothing twice').toBe(1);
  expect(await agent(other).getByText('Good morning.').count()).toBe(1);
});

test('what was said can be edited and sent again', async () => {
  const key = fresh();
  const page = await here.open(`chat/${key}`);
  await say(page, 'hello there');
  await agent(page).getByText('Good morning.').waitFor();
  await you(page).getByRole('button', { name: 'Edit and resend' }).click();
  const words = page.getByRole('textbox', { name: 'Edit message' });
  await expect.poll(() => words.inputValue()).toBe('hello there');
  await words.fill('a recipe please');
  await words.press('Enter');
  await agent(page).getByRole('heading', { name: 'Pancakes' }).waitFor();
  // It takes the place of what was said first, for the model too.
  await expect.poll(() => you(page).count()).toBe(1);
  await expect.poll(() => agent(page).getByText('Good morning.').count()).toBe(0);
  const told = JSON.stringify((await history(key)).messages);
  expect(told).toContain('a recipe please');
  expect(told).not.toContain('hello there');
});

test('the model and how much it thinks are chosen for a conversation, and kept', async () => {
  const key = fresh();
  const page = await here.open(`chat/${key}`);
  await say(page, 'hello');
  await agent(page).getByText('Good morning.').waitFor();
  await page.getByRole('button', { name: 'Model: scripted/demo' }).click();
  const search = page.getByRole('combobox', { name: 'Search models' });
  const offered = page.getByRole('listbox', { name: 'Models' }).getByRole('option');
  await offered.filter({ hasText: '$3 in · $15 out per 1M tokens' }).waitFor();
  await search.fill('OTHER');
  await expect.poll(() => offered.count()).toBe(1);
  await search.press('Enter');
  const settings = async () => (await here.gateway.cli('sessions', 'show', key, '--json')).stdout;
  await expect.poll(settings).toMatch(/scripted\/other/);
  await page.getByRole('combobox', { name: 'Reasoning' }).selectOption('low');
  await expect.poll(settings).toMatch(/"low"/);
  await page.reload();
  await page.getByRole('button', { name: 'Model: scripted/other' }).waitFor();
});
