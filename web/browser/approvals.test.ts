// Approvals as the owner gives them: once, in a conversation, always or not at all; and content that is not trusted yet.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Page } from 'playwright-core';
import { SIZES, obstacles } from './barriers';
import { soon } from './gateway';
import { McpServer } from './others';
import { house } from './visit';
import { agent, connected, say } from './words';

const here = house({
  config: `
[egress]
allow_private = ["127.0.0.0/8"]
[sessions.reset]
mode = "manual"
[[policy.rules]]
decision = "allow"
tools = ["diary__read"]
[[policy.rules]]
decision = "ask"
tools = ["diary__tell"]
[[policy.rules]]
decision = "ask"
tools = ["gsv__WriteFile"]
when.path.contains = "-note"
`,
  script: `
models: [demo]
turns:
  - when: { user: write the first note }
    calls: [{ id: w1, name: gsv__WriteFile, arguments: { path: memory/first-note.md, content: one } }]
  - when: { user: write the second note }
    calls: [{ id: w2, name: gsv__WriteFile, arguments: { path: memory/second-note.md, content: two } }]
  - when: { user: write the third note }
    calls: [{ id: w3, name: gsv__WriteFile, arguments: { path: memory/third-note.md, content: three } }]
  - when: { user: write the bad note }
    calls: [{ id: w4, name: gsv__WriteFile, arguments: { path: memory/bad-note.md, content: never } }]
  - when: { user: tell ada }
    calls: [{ id: t1, name: diary__tell, arguments: { to: ada, text: hello } }]
  - when: { user: tell bob }
    calls: [{ id: t2, name: diary__tell, arguments: { to: bob, text: hello } }]
  - when: { user: copy the diary }
    calls: [{ id: r1, name: diary__read, arguments: {} }]
  - when: { result_of: diary__read }
    calls: [{ id: r2, name: gsv__WriteFile, arguments: { path: memory/copied.md, content: from the diary } }]
  - when: { result_of: diary__tell }
    text: Told.
  - when: { result_of: gsv__WriteFile }
    text: So be it.
`,
});
const TELL = { type: 'object', properties: { to: { type: 'string' }, text: { type: 'string' } }, required: ['to', 'text'] };
const diary = new McpServer([
  { name: 'read', description: 'Reads the diary.', inputSchema: { type: 'object', properties: {} }, answers: 'dear diary' },
  { name: 'tell', description: 'Tells somebody something.', inputSchema: TELL, answers: 'told' },
]);
beforeAll(async () => {
  await diary.start();
  await here.gateway.post('/api/servers', { name: 'diary', server: { url: diary.url } });
  await soon('its tools are known', async () => (await here.gateway.get<{ tools: { name: string }[] }>('/api/tools')).tools.some((one) => one.name === 'diary__tell'));
});
afterAll(() => diary.stop());

type Rule = { decision: string; tools: string[]; callers: string[]; agents: string[]; when: Record<string, unknown> };
type Object = { kind: string; id: string; author: string | null; source: string };
let conversations = 0;
const fresh = () => `agent:main:approvals-${(conversations += 1)}`;
const file = (path: string) => here.gateway.ask<{ content: string }>('POST', '/api/tools/gsv__ReadFile', { path });
const rules = async () => (await here.gateway.get<{ rules: Rule[] }>('/api/policy')).rules;
const answered = async () => (await here.gateway.get<{ approvals: { tool: string; state: string; scope: string; message: string | null; arguments: { path?: string } }[] }>('/api/approvals?all=true')).approvals;
const untrusted = async () => (await here.gateway.get<{ objects: Object[] }>('/api/trust')).objects;
const ask = (page: Page, tool: string) => page.getByRole('article', { name: `Approval needed for ${tool}` });
const press = (page: Page, tool: string, name: string) => ask(page, tool).getByRole('button', { name, exact: true }).click();
/** The end of the turn that began with what was said last. */
const done = (page: Page, words: string, times = 1) => expect.poll(() => agent(page).getByText(words).count()).toBe(times);

test('what is allowed in a conversation is not asked about there again, and is in another', async () => {
  const page = await here.open(`chat/${fresh()}`);
  await say(page, 'write the first note');
  await ask(page, 'gsv__WriteFile').getByText(/^Requested by main for .+ · expires in/).waitFor();
  expect((await file('memory/first-note.md')).code, 'nothing was written yet').toBe('not_found');
  await press(page, 'gsv__WriteFile', 'Allow for this conversation');
  await done(page, 'So be it.');
  expect((await file('memory/first-note.md')).result?.content).toBe('one');
  expect(await answered()).toContainEqual(expect.objectContaining({ tool: 'gsv__WriteFile', scope: 'conversation', arguments: expect.objectContaining({ path: 'memory/first-note.md' }) as unknown }));

  await say(page, 'write the second note');
  await done(page, 'So be it.', 2);
  expect((await file('memory/second-note.md')).result?.content).toBe('two');
  expect((await answered()).filter((one) => one.arguments.path === 'memory/second-note.md'), 'nobody was asked').toEqual([]);

  const other = await here.open(`chat/${fresh()}`);
  await say(other, 'write the third note');
  await ask(other, 'gsv__WriteFile').waitFor();
  expect((await file('memory/third-note.md')).code).toBe('not_found');
  // The control: allowed once, it runs, and the next one is asked about.
  await press(other, 'gsv__WriteFile', 'Allow once');
  await done(other, 'So be it.');
  await say(other, 'write the second note');
  await ask(other, 'gsv__WriteFile').waitFor();
  await press(other, 'gsv__WriteFile', 'Deny');
  await done(other, 'So be it.', 2);
});

test('what is always allowed shows its rule first, and the rule is added when that is confirmed', async () => {
  const page = await here.open(`chat/${fresh()}`);
  const before = await rules();
  await say(page, 'tell ada');
  await press(page, 'diary__tell', 'Always allow…');
  const rule = ask(page, 'diary__tell').getByRole('group', { name: 'Rule to add' });
  const shown = async () => (await rule.getByRole('definition').allInnerTexts()).map((text) => text.trim());
  await expect.poll(shown).toEqual(['diary__tell', 'main', 'owner:*', 'to is "ada"']);
  await rule.getByRole('button', { name: 'Cancel' }).click();
  await rule.waitFor({ state: 'detached' });
  expect(await rules(), 'reading a rule adds nothing').toEqual(before);
  expect(await agent(page).getByText('Told.').count()).toBe(0);

  await press(page, 'diary__tell', 'Always allow…');
  await rule.getByRole('button', { name: 'Add rule and allow' }).click();
  await done(page, 'Told.');
  const now = await rules();
  expect(now).toHaveLength(before.length + 1);
  expect(now).toContainEqual(expect.objectContaining({ decision: 'allow', tools: ['diary__tell'], callers: ['owner:*'], agents: ['main'], when: { to: { equals: 'ada' } } }));

  const other = await here.open(`chat/${fresh()}`);
  await say(other, 'tell ada');
  await done(other, 'Told.');
  await say(other, 'tell bob');
  await ask(other, 'diary__tell').waitFor();
  await press(other, 'diary__tell', 'Deny');
  await done(other, 'Told.', 2);
});

test('a rule that was added keeps its tests when it is edited', async () => {
  const rule = { decision: 'allow', tools: ['url_fetch'], callers: ['owner:*'], agents: ['main'], when: { url: { host: ['example.com'] }, command: { program: ['git'] }, to: { equals: '42' } } };
  const before = await rules();
  expect((await here.gateway.ask('PUT', '/api/config', { path: 'policy.rules', value: [...before, rule] })).ok).toBe(true);
  const page = await here.open('policy/rules');
  const number = before.length + 1;
  await page.getByRole('button', { name: `Edit rule ${number}` }).click();
  const form = page.getByRole('dialog', { name: `Rule ${number}` });
  await form.getByRole('textbox', { name: 'Reason' }).fill('fetched often');
  await form.getByRole('button', { name: 'Save rule' }).click();
  await form.waitFor({ state: 'detached' });
  await expect.poll(async () => (await rules()).at(-1)).toMatchObject({ ...rule, reason: 'fetched often' });
  expect((await here.gateway.ask('PUT', '/api/config', { path: 'policy.rules', value: before })).ok).toBe(true);
});

test('what is denied with a message does not run, and the model is told why', async () => {
  const key = fresh();
  const page = await here.open(`chat/${key}`);
  await say(page, 'write the bad note');
  await press(page, 'gsv__WriteFile', 'Deny with a message…');
  await ask(page, 'gsv__WriteFile').getByRole('textbox', { name: 'Message to the model' }).fill('use the calendar instead');
  await press(page, 'gsv__WriteFile', 'Deny and send');
  await done(page, 'So be it.');
  expect((await file('memory/bad-note.md')).code).toBe('not_found');
  const { messages } = await here.gateway.get<{ messages: unknown[] }>(`/api/sessions/${encodeURIComponent(key)}/messages`);
  expect(JSON.stringify(messages)).toContain('use the calendar instead');
  expect(await answered()).toContainEqual(expect.objectContaining({ state: 'denied', message: 'use the calendar instead' }));
  const past = await here.open('policy');
  await past.getByRole('region', { name: 'Decided', exact: true }).getByText(/use the calendar instead/).waitFor();
});

test('a call outside of a conversation has no conversation to be allowed in', async () => {
  const visitor = await here.visit();
  const asked = await here.gateway.ask('POST', '/api/tools/gsv__WriteFile', { path: 'memory/direct-note.md', content: 'x' });
  expect(asked.code).toBe('approval_required');
  const page = await visitor.open('policy');
  const waits = ask(page, 'gsv__WriteFile');
  await waits.getByRole('definition').filter({ hasText: 'memory/direct-note.md' }).waitFor();
  await waits.getByText('Show as JSON').click();
  await waits.getByText('"path": "memory/direct-note.md"').waitFor();
  await waits.getByRole('button', { name: 'Allow once' }).waitFor();
  expect(await waits.getByRole('button', { name: 'Allow for this conversation' }).count()).toBe(0);
  await waits.getByRole('button', { name: 'Deny', exact: true }).click();
  await page.getByText('Nothing needs your approval').waitFor();
});

test('what was written after reading untrusted text says so until it is trusted', async () => {
  const key = fresh();
  const id = 'agents/main/memory/copied.md';
  const page = await here.open(`chat/${key}`);
  await say(page, 'copy the diary');
  await done(page, 'So be it.');
  const mark = await soon('it is not trusted', async () => (await untrusted()).find((one) => one.id === id));
  await page.getByRole('region', { name: 'Conversation', exact: true }).getByText('Untrusted', { exact: true }).waitFor();

  // What is requested from now on says what was read before.
  await say(page, 'write the bad note');
  await ask(page, 'gsv__WriteFile').getByText(`Requested after reading untrusted text: ${mark.source}`).waitFor();
  await press(page, 'gsv__WriteFile', 'Deny');
  await done(page, 'So be it.', 2);

  const files = await here.open('workspace/main/memory/copied.md');
  await files.getByRole('button', { name: 'copied.md' }).getByText('Untrusted', { exact: true }).waitFor();
  await files.getByRole('note').getByText(`Written by agent:main for owner:Browser after reading ${mark.source}. Trust this file?`).waitFor();
  expect(await files.getByRole('button', { name: 'first-note.md' }).getByText('Untrusted').count(), 'what was written before is trusted').toBe(0);

  const policy = await here.open('policy');
  const list = policy.getByRole('region', { name: 'Untrusted content' });
  const item = list.getByRole('listitem').filter({ hasText: id });
  await item.getByText(`Written by agent:main for owner:Browser after reading ${mark.source}.`).waitFor();
  const others = (await untrusted()).filter((one) => one.id !== id);
  await item.getByRole('button', { name: `Trust File ${id}` }).click();
  await item.waitFor({ state: 'detached' });
  expect(await untrusted(), 'only that one').toEqual(others);
  await list.getByRole('button', { name: `Trust Conversation ${key}` }).click();
  await expect.poll(async () => (await untrusted()).some((one) => one.id === key)).toBe(false);
  await files.reload();
  await files.getByRole('button', { name: 'copied.md' }).waitFor();
  await expect.poll(() => files.getByText('Untrusted', { exact: true }).count()).toBe(0);
});

test('the approval mode is set for all agents, and for one', async () => {
  const set = async (path: string) => (await here.gateway.cli('config', 'get', path)).stdout.trim().replaceAll('"', '');
  const page = await here.open('policy/rules');
  const mode = (name: string) => page.getByRole('region', { name: 'Approval mode' }).getByRole('radio', { name, exact: true });
  await expect.poll(() => mode('Ask').isChecked()).toBe(true);
  await mode('Read-only').check();
  await page.getByText('Only reads. Everything else is denied.').waitFor();
  await expect.poll(() => set('policy.mode')).toBe('read-only');

  const agents = await here.open('agents/main/approvals');
  const own = (name: string) => agents.getByRole('radio', { name, exact: true });
  await expect.poll(() => own('Default (Read-only)').isChecked()).toBe(true);
  await own('Auto').check();
  await agents.getByRole('button', { name: 'Save', exact: true }).click();
  await expect.poll(() => set('agents.main.mode')).toBe('auto');
  await own('Default (Read-only)').check();
  await agents.getByRole('button', { name: 'Save', exact: true }).click();
  await expect.poll(() => set('agents.main.mode')).not.toBe('auto');
  await mode('Ask').check();
  await expect.poll(() => set('policy.mode')).toBe('ask');
});

test('a rule can be changed before it is added, and takes its place before the rule that asked', async () => {
  const page = await here.open(`chat/${fresh()}`);
  const before = await rules();
  await say(page, 'tell bob');
  await press(page, 'diary__tell', 'Always allow…');
  const step = ask(page, 'diary__tell').getByRole('group', { name: 'Rule to add' });
  await step.getByRole('button', { name: 'Edit rule' }).click();
  await step.getByRole('textbox', { name: 'Value 1' }).fill('bob');
  await step.getByRole('button', { name: 'Add condition' }).click();
  await step.getByRole('textbox', { name: 'Argument 2' }).fill('text');
  await step.getByRole('textbox', { name: 'Value 2' }).fill('hello');
  await step.getByRole('button', { name: 'Save rule' }).click();
  await step.getByText('text contains "hello"').waitFor();
  expect(await rules(), 'nothing is added yet').toEqual(before);
  await step.getByRole('button', { name: 'Add rule and allow' }).click();
  await done(page, 'Told.');
  const now = await rules();
  expect(now).toHaveLength(before.length + 1);
  const asked = now.findIndex((one) => one.decision === 'ask' && one.tools.includes('diary__tell'));
  expect(now[asked - 1]).toMatchObject({ decision: 'allow', tools: ['diary__tell'], when: { to: { equals: 'bob' }, text: { contains: 'hello' } } });
  expect((await here.gateway.ask('PUT', '/api/config', { path: 'policy.rules', value: before })).ok).toBe(true);
});

test('an edit shows its change, the rule that asked and the way to the conversation', async () => {
  await here.gateway.call('gsv__WriteFile', { path: 'memory/list.md', content: 'milk\nbread\n' });
  const before = await rules();
  expect((await here.gateway.ask('PUT', '/api/config', { path: 'policy.rules', value: [{ decision: 'ask', tools: ['gsv__EditFile'], reason: 'edits are reviewed' }, ...before] })).ok).toBe(true);
  const asked = await here.gateway.ask('POST', '/api/tools/gsv__EditFile', { path: 'memory/list.md', oldString: 'bread', newString: 'butter' });
  expect(asked.code).toBe('approval_required');
  const page = await here.open('policy');
  const card = ask(page, 'gsv__EditFile');
  await card.getByText('-bread').waitFor();
  await card.getByText('+butter').waitFor();
  await card.getByRole('link', { name: 'Rule 1' }).waitFor();
  // By keyboard: Alt and Y allows, once nothing moves any more.
  const once = card.getByRole('button', { name: 'Allow once' });
  await expect.poll(() => once.isEnabled()).toBe(true);
  await page.keyboard.press('Alt+y');
  await page.getByText('Nothing needs your approval').waitFor();
  expect(await answered()).toContainEqual(expect.objectContaining({ tool: 'gsv__EditFile', state: 'approved', scope: 'once' }));
  expect((await here.gateway.ask('PUT', '/api/config', { path: 'policy.rules', value: before })).ok).toBe(true);
});

test('new requests are notified of where somebody wants that, and never what they would do', async () => {
  const visitor = await here.visit({ permissions: ['notifications'] });
  await visitor.context.addInitScript(() => {
    const seen: { title: string; body: string | undefined }[] = [];
    Object.assign(window, { seen });
    class Fake {
      static readonly permission = 'granted';
      static requestPermission = () => Promise.resolve('granted');
      onclick: (() => void) | null = null;
      constructor(title: string, options?: NotificationOptions) {
        seen.push({ title, body: options?.body });
      }
      close() {
        /* nothing to close */
      }
    }
    Object.assign(window, { Notification: Fake });
    Document.prototype.hasFocus = () => false;
  });
  const page = await visitor.open('policy');
  await connected(page).waitFor();
  const seen = () => page.evaluate(() => (window as unknown as { seen: { title: string; body: string }[] }).seen);
  await here.gateway.ask('POST', '/api/tools/gsv__WriteFile', { path: 'memory/quiet-note.md', content: 'x' });
  await ask(page, 'gsv__WriteFile').waitFor();
  expect(await seen(), 'nobody asked for them yet').toEqual([]);
  await page.getByRole('checkbox', { name: 'Notify me about new requests' }).check();
  await ask(page, 'gsv__WriteFile').getByRole('button', { name: 'Deny', exact: true }).click();
  await page.getByText('Nothing needs your approval').waitFor();
  await here.gateway.ask('POST', '/api/tools/gsv__WriteFile', { path: 'memory/loud-note.md', content: 'a secret' });
  await expect.poll(seen).toEqual([{ title: 'gsv__WriteFile needs your approval', body: 'Requested by main' }]);
  await ask(page, 'gsv__WriteFile').getByRole('button', { name: 'Deny', exact: true }).click();
  await page.getByText('Nothing needs your approval').waitFor();
});

describe.each(SIZES)('%s', (_name, options) => {
  test('requests in every step keep nobody out', async () => {
    const visitor = await here.visit(options);
    const key = fresh();
    void here.gateway.ask('POST', '/api/chat', { sessionKey: key, message: 'tell bob' });
    const page = await visitor.open('policy');
    const wrong: string[] = [];
    const look = async (what: string) => wrong.push(...(await obstacles(page)).map((one) => `${what}: ${one}`));
    await ask(page, 'diary__tell').waitFor();
    await visitor.settled(page);
    await look('the request');
    await press(page, 'diary__tell', 'Always allow…');
    await look('the rule to add');
    await ask(page, 'diary__tell').getByRole('button', { name: 'Cancel' }).click();
    await press(page, 'diary__tell', 'Deny with a message…');
    await look('the message');
    await ask(page, 'diary__tell').getByRole('button', { name: 'Deny and send' }).click();
    await page.getByText('Nothing needs your approval').waitFor();
    await visitor.settled(page);
    await look('nothing to approve');
    expect(wrong).toEqual([]);
  });
});

test('a token is created for the agents that are named', async () => {
  const page = await here.open('settings/tokens');
  const tokens = page.getByRole('region', { name: 'Tokens' });
  await tokens.getByRole('button', { name: 'Create token' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox', { name: 'Name' }).fill('writer');
  await dialog.getByRole('combobox', { name: 'Agents' }).fill('helper');
  await dialog.getByRole('combobox', { name: 'Agents' }).press('Enter');
  // What is typed and not confirmed by a key is meant, too.
  await dialog.getByRole('combobox', { name: 'Agents' }).fill('other*');
  await dialog.getByRole('button', { name: 'Create', exact: true }).click();
  await dialog.getByRole('button', { name: 'Done' }).click();
  await tokens.getByRole('listitem').filter({ hasText: 'writer' }).getByText(/helper.*other\*/).waitFor();
  const all = await here.gateway.get<{ tokens: { name: string; agents: string[] }[] }>('/api/tokens');
  expect(all.tokens.find((one) => one.name === 'writer')?.agents).toEqual(['helper', 'other*']);
});
