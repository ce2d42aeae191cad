// What is kept and what is set: workspace, artifacts, settings, rules, people, health, usage, activity.

import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { house } from './visit';
import { connected } from './words';

const here = house({
  config: '[[policy.rules]]\ndecision = "deny"\ntools = ["url_fetch"]\nreason = "no looking around"\n[[policy.rules]]\ndecision = "ask"\ntools = ["gsv__DeleteFile"]\nwhen.path.contains = "old"\n',
});
const setting = async (path: string) => (await here.gateway.cli('config', 'get', path)).stdout.trim();

test('a file of the workspace is edited and kept, on the disk too', async () => {
  await here.gateway.call('gsv__WriteFile', { path: 'memory/plan.md', content: '# Old plan\n' });
  const page = await here.open('workspace');
  await page.getByRole('button', { name: 'memory' }).click();
  await page.getByRole('button', { name: 'plan.md' }).click();
  const text = page.getByRole('textbox', { name: 'Text of the file' });
  await expect.poll(() => text.inputValue()).toBe('# Old plan\n');
  const keep = page.getByRole('button', { name: 'Keep', exact: true });
  expect(await keep.isDisabled()).toBe(true);
  await text.fill('# New plan\n\nWith **words**.\n');
  await keep.click();
  const kept = async () => (await here.gateway.cli('call', 'gsv__ReadFile', '{"path":"memory/plan.md"}')).stdout;
  await expect.poll(kept).toContain('# New plan');
  expect(await readFile(join(here.gateway.home, 'blobs', 'agents', 'main', 'memory', 'plan.md'), 'utf8')).toBe('# New plan\n\nWith **words**.\n');
  await page.getByRole('button', { name: 'Read', exact: true }).click();
  await page.getByRole('heading', { name: 'New plan' }).waitFor();
});

test('a file is made and deleted from the page', async () => {
  const page = await here.open('workspace');
  await page.getByRole('textbox', { name: 'New file' }).fill('ideas.md');
  await page.getByRole('button', { name: 'Make it' }).click();
  await page.getByRole('textbox', { name: 'Text of the file' }).waitFor();
  const there = () => here.gateway.ask('POST', '/api/tools/gsv__ReadFile', { path: 'ideas.md' });
  expect((await there()).ok).toBe(true);
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('button', { name: 'Delete it?' }).click();
  await expect.poll(async () => (await there()).code).toBe('not_found');
});

test('a new file with a name that is taken is the one that is there, as it is', async () => {
  const page = await here.open('workspace/main/notes/');
  await page.getByText('file not found: notes/').waitFor();
  await here.gateway.call('gsv__WriteFile', { path: 'notes/mine.md', content: 'long thought about\n' });
  await page.getByRole('textbox', { name: 'New file' }).fill('mine.md');
  await page.getByRole('button', { name: 'Make it' }).click();
  await page.getByText('notes/mine.md is there already').waitFor();
  const text = page.getByRole('textbox', { name: 'Text of the file' });
  await expect.poll(() => text.inputValue()).toBe('long thought about\n');
  expect(await here.gateway.call('gsv__ReadFile', { path: 'notes/mine.md' })).toMatchObject({ content: 'long thought about\n' });
});

test('what is typed in a file outlives a lost connection and a look elsewhere', async () => {
  await here.gateway.call('gsv__WriteFile', { path: 'draft.md', content: 'begun\n' });
  const visitor = await here.visit();
  const page = await visitor.open('workspace/main/draft.md');
  const text = page.getByRole('textbox', { name: 'Text of the file' });
  await expect.poll(() => text.inputValue()).toBe('begun\n');
  await text.fill('begun, and more\n');
  const socket = page.waitForEvent('websocket');
  await here.gateway.restart();
  await socket;
  await connected(page).waitFor();
  expect(await text.inputValue()).toBe('begun, and more\n');

  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Usage' }).click();
  await text.waitFor({ state: 'detached' });
  await page.goBack();
  await page.getByText('This is your draft').waitFor();
  expect(await text.inputValue()).toBe('begun, and more\n');
  await page.getByRole('button', { name: 'Drop the draft' }).click();
  await expect.poll(() => text.inputValue()).toBe('begun\n');
  expect(await here.gateway.call('gsv__ReadFile', { path: 'draft.md' }), 'nothing was written').toMatchObject({ content: 'begun\n' });
  // While nobody answered, the browser said so by itself.
  visitor.trouble.splice(0, visitor.trouble.length, ...visitor.trouble.filter((one) => !/WebSocket connection|ERR_/.test(one)));
});

test('what was written or deleted meanwhile is not undone by keeping a file', async () => {
  const { gateway } = here;
  const there = async () => (await gateway.ask<{ content: string }>('POST', '/api/tools/gsv__ReadFile', { path: 'both.md' })).result?.content;
  await gateway.call('gsv__WriteFile', { path: 'both.md', content: 'one\ntwo\n' });
  const page = await here.open('workspace/main/both.md');
  const text = page.getByRole('textbox', { name: 'Text of the file' });
  const keep = page.getByRole('button', { name: 'Keep', exact: true });
  const meanwhile = page.getByRole('region', { name: 'It changed meanwhile' });
  await expect.poll(() => text.inputValue()).toBe('one\ntwo\n');
  await text.fill('one\nmine\n');
  await gateway.call('gsv__WriteFile', { path: 'both.md', content: 'one\ntheirs\n' });
  await keep.click();
  const changes = meanwhile.getByRole('group', { name: 'What changed' });
  await changes.getByText('-theirs').waitFor();
  await changes.getByText('+mine').waitFor();
  expect(await there(), 'theirs is there').toBe('one\ntheirs\n');
  await meanwhile.getByRole('button', { name: 'Keep mine' }).click();
  await meanwhile.waitFor({ state: 'detached' });
  expect(await there()).toBe('one\nmine\n');

  await text.fill('mine again\n');
  await gateway.call('gsv__DeleteFile', { path: 'both.md' });
  await keep.click();
  await meanwhile.getByText('Somebody deleted this file').waitFor();
  expect(await there(), 'it stays deleted').toBeUndefined();
  await meanwhile.getByRole('button', { name: 'Keep mine' }).click();
  await meanwhile.waitFor({ state: 'detached' });
  expect(await there()).toBe('mine again\n');

  await text.fill('not this\n');
  await gateway.call('gsv__WriteFile', { path: 'both.md', content: 'theirs at last\n' });
  await keep.click();
  await meanwhile.getByRole('button', { name: 'Take theirs' }).click();
  await expect.poll(() => text.inputValue()).toBe('theirs at last\n');
  expect(await there()).toBe('theirs at last\n');
});

test('an artifact is given, seen and taken again, byte by byte', async () => {
  const bytes = randomBytes(70_000);
  const page = await here.open('artifacts');
  await page.getByText('Nothing is kept yet').waitFor();
  await page.getByLabel('Keep a file').setInputFiles([
    { name: 'noise.bin', mimeType: 'application/octet-stream', buffer: bytes },
    { name: 'poem.txt', mimeType: 'text/plain', buffer: Buffer.from('roses are red\n') },
  ]);
  const list = page.getByRole('listbox', { name: 'Artifacts' });
  await list.getByRole('option', { name: 'poem.txt' }).click();
  await page.getByText('roses are red').waitFor();
  await list.getByRole('option', { name: 'noise.bin' }).click();
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download' }).click()]);
  expect(download.suggestedFilename()).toBe('noise.bin');
  const digest = (of: Buffer) => createHash('sha256').update(of).digest('hex');
  expect(digest(await readFile(await download.path()))).toBe(digest(bytes));
  const { artifacts } = await here.gateway.get<{ artifacts: { name: string; size: number }[] }>('/api/artifacts');
  expect(artifacts).toEqual(expect.arrayContaining([expect.objectContaining({ name: 'noise.bin', size: 70_000 })]));
  await page.getByRole('button', { name: 'Remove', exact: true }).click();
  await page.getByRole('button', { name: 'Remove it?' }).click();
  await expect.poll(() => list.getByRole('option').count()).toBe(1);
  expect((await here.gateway.get<{ artifacts: unknown[] }>('/api/artifacts')).artifacts).toHaveLength(1);
});

test('a wrong value of a setting is refused with the reason, a right one is kept', async () => {
  const visitor = await here.visit();
  visitor.expected.add(400).add(422);
  const page = await visitor.open('settings');
  const find = page.getByRole('searchbox', { name: 'Find a setting' });
  const keep = page.getByRole('button', { name: 'Keep', exact: true });
  const before = await setting('cron.max_concurrent_runs');
  await find.fill('cron.max_concurrent_runs');
  await page.getByRole('button', { name: 'Change cron.max_concurrent_runs' }).click();
  const many = page.getByLabel('cron.max_concurrent_runs', { exact: true });
  await many.fill('-4');
  await keep.click();
  expect(await many.evaluate((field: HTMLInputElement) => field.validationMessage)).toContain('1');
  expect(await setting('cron.max_concurrent_runs'), 'nothing changed').toBe(before);
  await many.fill('3');
  await keep.click();
  await page.getByRole('button', { name: 'Change cron.max_concurrent_runs' }).waitFor();
  expect(await setting('cron.max_concurrent_runs')).toBe('3');
  expect(await readFile(join(here.gateway.home, 'config.toml'), 'utf8')).toMatch(/max_concurrent_runs\s*=\s*3/);

  // What only the gateway can judge is refused by it, in its words.
  await find.fill('timezone');
  await page.getByRole('button', { name: 'Change timezone' }).click();
  const zone = page.getByLabel('timezone', { exact: true });
  await zone.fill('Mars/Olympus');
  await keep.click();
  await page.getByRole('alert').getByText(/timezone/).first().waitFor();
  await zone.fill('Europe/Lisbon');
  await keep.click();
  await page.getByRole('button', { name: 'Change timezone' }).waitFor();
  expect(await setting('timezone')).toContain('Europe/Lisbon');
});

test('a group of settings stays open, and what is half typed stays, when another setting is kept', async () => {
  const page = await here.open('settings');
  const group = page.getByRole('group').filter({ has: page.getByText('limits', { exact: true }) });
  await group.locator('summary').click();
  await page.getByRole('button', { name: 'Change limits.calls_per_minute' }).click();
  await page.getByLabel('limits.calls_per_minute', { exact: true }).fill('77');
  await page.getByRole('button', { name: 'Change limits.result_bytes' }).click();
  await page.getByLabel('limits.result_bytes', { exact: true }).fill('900000');
  await page.getByRole('listitem').filter({ has: page.getByLabel('limits.result_bytes', { exact: true }) }).getByRole('button', { name: 'Keep', exact: true }).click();
  await page.getByRole('button', { name: 'Change limits.result_bytes: 900000' }).waitFor();
  expect(await page.getByLabel('limits.calls_per_minute', { exact: true }).inputValue()).toBe('77');
  expect(await setting('limits.result_bytes')).toBe('900000');
});

test('a token and a secret are made; the secret is never shown', async () => {
  const page = await here.open('settings');
  const tokens = page.getByRole('region', { name: 'Tokens' });
  await tokens.getByRole('textbox', { name: 'Name' }).fill('robot');
  await tokens.getByRole('textbox', { name: 'Tools' }).fill('gsv__ReadFile');
  await tokens.getByRole('button', { name: 'Make a token' }).click();
  const made = (await tokens.getByRole('group', { name: 'text' }).innerText()).trim();
  const as = (tool: string, args: unknown) => fetch(`${here.gateway.url}/api/tools/${tool}`, { method: 'POST', headers: { authorization: `Bearer ${made}`, 'content-type': 'application/json' }, body: JSON.stringify(args) });
  await here.gateway.call('gsv__WriteFile', { path: 'memory/for-robots.md', content: 'beep' });
  expect((await as('gsv__ReadFile', { path: 'memory/for-robots.md' })).status).toBe(200);
  expect((await as('gsv__WriteFile', { path: 'memory/x.md', content: '' })).status).toBe(403);
  const row = tokens.getByRole('row').filter({ hasText: 'robot' });
  await row.getByRole('button', { name: 'Take back' }).click();
  await row.getByRole('button', { name: 'Take it back?' }).click();
  await expect.poll(async () => (await as('gsv__ReadFile', { path: 'memory/for-robots.md' })).status).toBe(401);

  const secrets = page.getByRole('region', { name: 'Secrets' });
  await secrets.getByRole('textbox', { name: 'Name' }).fill('weather-key');
  await secrets.getByLabel('Value').fill('sunny-side-up-123');
  await secrets.getByRole('button', { name: 'Keep it' }).click();
  await secrets.getByText('weather-key').waitFor();
  expect((await here.gateway.cli('secret', 'list')).stdout).toContain('weather-key');
  expect(await page.content()).not.toContain('sunny-side-up-123');
});

test('the rules are shown, explain themselves, and what waits is answered', async () => {
  await here.gateway.call('gsv__WriteFile', { path: 'memory/old.md', content: 'x' });
  const asked = await here.gateway.ask('POST', '/api/tools/gsv__DeleteFile', { path: 'memory/old.md' });
  expect(asked.code).toBe('approval_required');
  const page = await here.open('policy/rules');
  const rules = page.getByRole('region', { name: 'Rules', exact: true });
  await rules.getByText('url_fetch').waitFor();
  await rules.getByText('no looking around').waitFor();
  const explain = page.getByRole('region', { name: 'Test rules' });
  await explain.getByRole('combobox', { name: 'Tool' }).fill('url_fetch');
  await explain.getByRole('button', { name: 'Test', exact: true }).click();
  await explain.getByText('Deny', { exact: true }).waitFor();
  await page.getByRole('navigation', { name: 'Approvals' }).getByRole('link', { name: /^Approvals/ }).click();

  const waits = page.getByRole('article', { name: 'Approval needed for gsv__DeleteFile' });
  await waits.getByRole('definition').filter({ hasText: 'memory/old.md' }).waitFor();
  await page.waitForFunction(() => document.title.startsWith('(1)'));
  await waits.getByRole('button', { name: 'Deny', exact: true }).click();
  await page.getByText('Nothing needs your approval').waitFor();
  await page.getByRole('region', { name: 'Decided', exact: true }).getByRole('row').filter({ hasText: 'gsv__DeleteFile' }).getByText('Denied').first().waitFor();
  expect((await here.gateway.ask('POST', '/api/tools/gsv__ReadFile', { path: 'memory/old.md' })).ok, 'it is still there').toBe(true);
});

test('what is asked elsewhere is seen to wait without looking for it', async () => {
  const page = await here.open('usage');
  await connected(page).waitFor();
  await here.gateway.ask('POST', '/api/tools/gsv__DeleteFile', { path: 'memory/older.md' });
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Approvals 1' }).click();
  await page.getByRole('button', { name: 'Deny', exact: true }).click();
  await page.getByText('Nothing needs your approval').waitFor();
});

test('something to do is written down and ticked off', async () => {
  const page = await here.open('people');
  const todos = page.getByRole('region', { name: 'Todos' });
  await todos.getByRole('textbox', { name: 'Something to do' }).fill('water the plants');
  await todos.getByRole('button', { name: 'Add', exact: true }).click();
  const box = todos.getByRole('checkbox', { name: 'Done: water the plants' });
  await box.waitFor();
  expect((await here.gateway.get<{ open: { content: string }[] }>('/api/todos')).open).toMatchObject([{ content: 'water the plants' }]);
  // A second press while the first is under way is nothing.
  await box.dblclick();
  await todos.getByText('1 thing done').waitFor();
  expect(await page.getByText(/semantic_match/).count()).toBe(0);
  expect((await here.gateway.get<{ open: unknown[] }>('/api/todos')).open).toEqual([]);
  await page.getByRole('region', { name: 'Contacts' }).getByText('Nobody yet').waitFor();
});

test('health shows what doctor finds, and what is missing around it', async () => {
  const page = await here.open('health');
  const gateway = page.getByRole('region', { name: 'The gateway' });
  await gateway.getByRole('listitem').first().waitFor();
  const doctor = await here.gateway.cli('doctor');
  for (const line of await gateway.getByRole('listitem').locator('strong').allInnerTexts()) expect(doctor.stdout.toLowerCase()).toContain(line.toLowerCase());
  await page.getByRole('region', { name: 'Around it' }).getByText(/no model is set/).waitFor();
});

test('activity is filtered, opened and verified', async () => {
  await here.gateway.call('gsv__WriteFile', { path: 'memory/traced.md', content: 'x' });
  await here.gateway.ask('POST', '/api/tools/gsv__ReadFile', { path: 'memory/nowhere.md' });
  const page = await here.open('activity');
  const entries = page.getByRole('listbox', { name: 'Entries' });
  await entries.getByRole('option', { name: /memory\/traced\.md/ }).first().waitFor();
  await page.getByRole('combobox', { name: 'How it ended' }).selectOption('error');
  await entries.getByRole('option', { name: /memory\/traced\.md/ }).first().waitFor({ state: 'detached' });
  await entries.getByRole('option', { name: /memory\/nowhere\.md/ }).first().click();
  await page.getByRole('region', { name: /^Entry \d+/ }).getByText('not_found').first().waitFor();
  await page.getByRole('button', { name: 'Check the chain' }).click();
  await page.getByText(/The chain is whole: [\d,]+ entries checked/).waitFor();
  expect((await here.gateway.cli('audit', 'verify')).code).toBe(0);
});

test('a resource is made for an agent, and taken away from it', async () => {
  const page = await here.open('resources');
  await page.getByRole('button', { name: 'Make one' }).click();
  const dialog = page.getByRole('dialog', { name: 'Make a resource' });
  await dialog.getByRole('textbox', { name: 'Name' }).fill('leads');
  await dialog.getByRole('combobox', { name: 'For the agent' }).selectOption('main');
  await dialog.getByRole('combobox', { name: 'Which may' }).selectOption('write');
  await dialog.getByRole('button', { name: 'Make it' }).click();
  const leads = page.getByRole('region', { name: 'leads' });
  await leads.getByText('write', { exact: true }).waitFor();
  type Resource = { collectionId: string; name: string; grants?: { agent: string; level: string }[] };
  const { resources } = await here.gateway.get<{ resources: Resource[] }>('/api/resources');
  const id = resources.find((one) => one.name === 'leads')?.collectionId;
  const grants = async () => (await here.gateway.get<Resource>(`/api/resources/${id}`)).grants;
  expect(await grants()).toMatchObject([{ agent: 'main', level: 'write' }]);
  await leads.getByRole('button', { name: 'Take away from main' }).click();
  await leads.getByRole('button', { name: /Take it away\?/ }).click();
  await leads.getByText('Nobody but you.').waitFor();
  expect(await grants()).toEqual([]);
});

test('the agents are shown, each with what it may use', async () => {
  const page = await here.open('agents');
  await page.getByRole('article', { name: 'main' }).getByRole('link', { name: 'Edit main' }).click();
  await page.getByRole('heading', { level: 1, name: 'main' }).waitFor();
  await page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name: 'Tools' }).click();
  await page.getByText(/\d+ on, \d+ on demand, \d+ off\./).waitFor();
});
