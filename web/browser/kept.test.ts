// What is kept and what is set: workspace, artifacts, settings, rules, people, health, usage, activity.

import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { t } from './texts';
import { house } from './visit';
import { connected } from './words';

const here = house({
  config: '[[policy.rules]]\ndecision = "deny"\ntools = ["url_fetch"]\nreason = "no looking around"\n[[policy.rules]]\ndecision = "ask"\ntools = ["gsv__DeleteFile"]\nwhen.path.contains = "old"\n',
});

test('a file of the workspace is edited and kept, on the disk too', async () => {
  await here.gateway.call('gsv__WriteFile', { path: 'memory/plan.md', content: '# Old plan\n' });
  const page = await here.open('workspace');
  await page.getByRole('button', { name: 'memory' }).click();
  await page.getByRole('button', { name: 'plan.md' }).click();
  const text = page.getByRole('textbox', { name: 'File content' });
  await expect.poll(() => text.inputValue()).toBe('# Old plan\n');
  const keep = page.getByRole('button', { name: 'Save', exact: true });
  expect(await keep.isDisabled()).toBe(true);
  await text.fill('# New plan\n\nWith **words**.\n');
  await keep.click();
  const kept = async () => (await here.gateway.cli('call', 'gsv__ReadFile', '{"path":"memory/plan.md"}')).stdout;
  await expect.poll(kept).toContain('# New plan');
  expect(await readFile(join(here.gateway.home, 'blobs', 'agents', 'main', 'memory', 'plan.md'), 'utf8')).toBe('# New plan\n\nWith **words**.\n');
  await page.getByRole('button', { name: 'Preview', exact: true }).click();
  await page.getByRole('heading', { name: 'New plan' }).waitFor();
});

test('a file is made and deleted from the page', async () => {
  const page = await here.open('workspace');
  await page.getByRole('textbox', { name: 'New file' }).fill('ideas.md');
  await page.getByRole('button', { name: 'Create file' }).click();
  await page.getByRole('textbox', { name: 'File content' }).waitFor();
  const there = () => here.gateway.ask('POST', '/api/tools/gsv__ReadFile', { path: 'ideas.md' });
  expect((await there()).ok).toBe(true);
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('button', { name: 'Delete this file?' }).click();
  await expect.poll(async () => (await there()).code).toBe('not_found');
});

test('a new file with a name that is taken is the one that is there, as it is', async () => {
  const page = await here.open('workspace/main/notes/');
  await page.getByText('file not found: notes/').waitFor();
  await here.gateway.call('gsv__WriteFile', { path: 'notes/mine.md', content: 'long thought about\n' });
  await page.getByRole('textbox', { name: 'New file' }).fill('mine.md');
  await page.getByRole('button', { name: 'Create file' }).click();
  await page.getByText('notes/mine.md already exists').waitFor();
  const text = page.getByRole('textbox', { name: 'File content' });
  await expect.poll(() => text.inputValue()).toBe('long thought about\n');
  expect(await here.gateway.call('gsv__ReadFile', { path: 'notes/mine.md' })).toMatchObject({ content: 'long thought about\n' });
});

test('what is typed in a file outlives a lost connection and a look elsewhere', async () => {
  await here.gateway.call('gsv__WriteFile', { path: 'draft.md', content: 'begun\n' });
  const visitor = await here.visit();
  const page = await visitor.open('workspace/main/draft.md');
  const text = page.getByRole('textbox', { name: 'File content' });
  await expect.poll(() => text.inputValue()).toBe('begun\n');
  await text.fill('begun, and more\n');
  const socket = page.waitForEvent('websocket');
  await here.gateway.restart();
  await socket;
  await connected(page).waitFor();
  expect(await text.inputValue()).toBe('begun, and more\n');

  await page.getByRole('navigation', { name: t('shell.navigation') }).getByRole('link', { name: 'Usage' }).click();
  await text.waitFor({ state: 'detached' });
  await page.goBack();
  await page.getByText('This is your unsaved draft.').waitFor();
  expect(await text.inputValue()).toBe('begun, and more\n');
  await page.getByRole('button', { name: 'Discard draft' }).click();
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
  const text = page.getByRole('textbox', { name: 'File content' });
  const keep = page.getByRole('button', { name: 'Save', exact: true });
  const meanwhile = page.getByRole('region', { name: 'Edit conflict' });
  await expect.poll(() => text.inputValue()).toBe('one\ntwo\n');
  await text.fill('one\nmine\n');
  await gateway.call('gsv__WriteFile', { path: 'both.md', content: 'one\ntheirs\n' });
  await keep.click();
  const changes = meanwhile.getByRole('group', { name: 'Changes', exact: true });
  await changes.getByText('-theirs').waitFor();
  await changes.getByText('+mine').waitFor();
  expect(await there(), 'theirs is there').toBe('one\ntheirs\n');
  await meanwhile.getByRole('button', { name: 'Save my version' }).click();
  await meanwhile.waitFor({ state: 'detached' });
  expect(await there()).toBe('one\nmine\n');

  await text.fill('mine again\n');
  await gateway.call('gsv__DeleteFile', { path: 'both.md' });
  await keep.click();
  await meanwhile.getByText('This file was deleted').waitFor();
  expect(await there(), 'it stays deleted').toBeUndefined();
  await meanwhile.getByRole('button', { name: 'Save my version' }).click();
  await meanwhile.waitFor({ state: 'detached' });
  expect(await there()).toBe('mine again\n');

  await text.fill('not this\n');
  await gateway.call('gsv__WriteFile', { path: 'both.md', content: 'theirs at last\n' });
  await keep.click();
  await meanwhile.getByRole('button', { name: 'Use the saved version' }).click();
  await expect.poll(() => text.inputValue()).toBe('theirs at last\n');
  expect(await there()).toBe('theirs at last\n');
});

test('an artifact is given, seen and taken again, byte by byte', async () => {
  const bytes = randomBytes(70_000);
  const page = await here.open('artifacts');
  await page.getByText('No artifacts yet').waitFor();
  await page.getByLabel('Upload files').setInputFiles([
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
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('button', { name: 'Delete this file?' }).click();
  await expect.poll(() => list.getByRole('option').count()).toBe(1);
  expect((await here.gateway.get<{ artifacts: unknown[] }>('/api/artifacts')).artifacts).toHaveLength(1);
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
  await page.getByRole('navigation', { name: t('shell.navigation') }).getByRole('link', { name: 'Approvals 1' }).click();
  await page.getByRole('button', { name: 'Deny', exact: true }).click();
  await page.getByText('Nothing needs your approval').waitFor();
});

test('something to do is written down and ticked off', async () => {
  const page = await here.open('people');
  const todos = page.getByRole('region', { name: 'To-dos' });
  await todos.getByRole('textbox', { name: 'New to-do' }).fill('water the plants');
  await todos.getByRole('button', { name: 'Add', exact: true }).click();
  const box = todos.getByRole('checkbox', { name: 'Complete: water the plants' });
  await box.waitFor();
  expect((await here.gateway.get<{ open: { content: string }[] }>('/api/todos')).open).toMatchObject([{ content: 'water the plants' }]);
  // A second press while the first is under way is nothing.
  await box.dblclick();
  await todos.getByText('1 completed').waitFor();
  expect(await page.getByText(/semantic_match/).count()).toBe(0);
  expect((await here.gateway.get<{ open: unknown[] }>('/api/todos')).open).toEqual([]);
  await page.getByRole('region', { name: 'Contacts' }).getByText('No contacts yet').waitFor();
});

test('health shows what doctor finds, and what is missing around it', async () => {
  const page = await here.open('health');
  const gateway = page.getByRole('region', { name: 'Gateway' });
  await gateway.getByRole('listitem').first().waitFor();
  const doctor = await here.gateway.cli('doctor');
  await gateway.getByText(/\d+ checks? passed/).click();
  for (const line of await gateway.getByRole('listitem').locator('strong').allInnerTexts()) expect(doctor.stdout.toLowerCase()).toContain(line.toLowerCase());
  await page.getByRole('region', { name: 'Components' }).getByText(/No default model is set/).waitFor();
  // What needs attention comes first, with its fix.
  const first = gateway.getByRole('listitem').first();
  await first.getByText(/^\s*(Warning|Error)$/).waitFor();
  await gateway.getByText('no backup was ever made').waitFor();
  await gateway.getByText(/manyhands backup FILE/).waitFor();
  const again = page.waitForResponse((response) => response.url().endsWith('/api/doctor'));
  await page.getByRole('button', { name: 'Check now' }).click();
  expect((await again).status()).toBe(200);
});

test('a resource is made for an agent, and taken away from it', async () => {
  const page = await here.open('resources');
  await page.getByRole('button', { name: 'New resource' }).first().click();
  const dialog = page.getByRole('dialog', { name: 'New resource' });
  await dialog.getByRole('textbox', { name: 'Name' }).fill('leads');
  await dialog.getByRole('combobox', { name: 'Agent' }).selectOption('main');
  await dialog.getByRole('combobox', { name: 'Permission' }).selectOption('write');
  await dialog.getByRole('button', { name: 'Create' }).click();
  const leads = page.getByRole('region', { name: 'leads' });
  await leads.getByRole('listitem').getByText('Read and write', { exact: true }).waitFor();
  type Resource = { collectionId: string; name: string; grants?: { agent: string; level: string }[] };
  const { resources } = await here.gateway.get<{ resources: Resource[] }>('/api/resources');
  const id = resources.find((one) => one.name === 'leads')?.collectionId;
  const grants = async () => (await here.gateway.get<Resource>(`/api/resources/${id}`)).grants;
  expect(await grants()).toMatchObject([{ agent: 'main', level: 'write' }]);
  await leads.getByRole('button', { name: 'Revoke access of main' }).click();
  await leads.getByRole('button', { name: /Revoke access\?/ }).click();
  await leads.getByText('No agent has access; only you do.').waitFor();
  expect(await grants()).toEqual([]);
});

test('the agents are shown, each with what it may use', async () => {
  const page = await here.open('agents');
  await page.getByRole('article', { name: 'main' }).getByRole('link', { name: 'Edit main' }).click();
  await page.getByRole('heading', { level: 1, name: 'main' }).waitFor();
  await page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name: 'Tools' }).click();
  await page.getByText(/\d+ on, \d+ on demand, \d+ off\./).waitFor();
});
