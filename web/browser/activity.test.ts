// Activity: who did what to what and how it ended, one row for each call; usage with budgets.

import { expect, test } from 'vitest';
import { barriers, tooWide } from './barriers';
import { DESKTOP, PHONE, house } from './visit';

const here = house({
  script: 'turns:\n  - when: { user: remember }\n    calls: [{ id: w1, name: gsv__WriteFile, arguments: { path: memory/by-agent.md, content: yes } }]\n  - when: { user: "" }\n    text: Done.\n    usage: { input: 1000, output: 500 }\n',
  config: '[[policy.rules]]\ndecision = "deny"\ntools = ["gsv__DeleteFile"]\nreason = "nothing is deleted"\n',
});

test('several entries of a call are one row with its target and result, and open in a drawer', async () => {
  await here.gateway.call('gsv__WriteFile', { path: 'memory/traced.md', content: 'x' });
  await here.gateway.ask('POST', '/api/tools/gsv__ReadFile', { path: 'memory/nowhere.md' });
  await here.gateway.ask('POST', '/api/tools/gsv__DeleteFile', { path: 'memory/traced.md' });
  const page = await here.open('activity');
  const list = page.getByRole('listbox', { name: 'Entries' });
  await list.getByText('Today').waitFor();
  const wrote = list.getByRole('option', { name: /gsv__WriteFile memory\/traced\.md OK/ });
  await wrote.waitFor();
  const { entries } = await here.gateway.get<{ entries: { tool: string; kind: string; call: string }[] }>('/api/audit?tool=gsv__WriteFile');
  expect(entries.map((one) => one.kind).sort(), 'the log has two entries of it').toEqual(['finished', 'started']);
  expect(await list.getByRole('option', { name: /gsv__WriteFile memory\/traced\.md/ }).count()).toBe(1);
  await list.getByRole('option', { name: /gsv__DeleteFile memory\/traced\.md Denied by rule/ }).waitFor();

  await wrote.click();
  const drawer = page.getByRole('region', { name: 'Details of gsv__WriteFile' });
  await drawer.getByText('memory/traced.md').waitFor();
  await drawer.getByText(/^owner \(\w+\)$/).waitFor();
  await drawer.getByText('Log entries').click();
  await expect.poll(() => drawer.getByRole('listitem').count()).toBe(2);
  await drawer.getByRole('link', { name: 'Show only this call' }).click();
  await page.getByText(`One call: ${entries[0]?.call}`).waitFor();
  await expect.poll(() => list.getByRole('option').count()).toBe(1);
  await page.getByRole('link', { name: 'Show all activity' }).click();
  await list.getByRole('option', { name: /memory\/nowhere\.md/ }).first().waitFor();
});

test('looking at pages is no entry', async () => {
  const cron = async () => (await here.gateway.get<{ entries: unknown[] }>('/api/audit?tool=gsv__Cron')).entries.length;
  const page = await here.open('cron');
  await page.getByRole('button', { name: 'New job' }).first().waitFor();
  await page.getByText('No jobs yet').waitFor();
  expect(await cron()).toBe(0);
  await here.gateway.call('gsv__Cron', { action: 'list' });
  await expect.poll(cron, { message: 'a call is one' }).toBeGreaterThan(0);
});

test('it is filtered by result, person and words, and cleared', async () => {
  const page = await here.open('activity');
  const list = page.getByRole('listbox', { name: 'Entries' });
  await list.getByRole('option', { name: /memory\/traced\.md OK/ }).first().waitFor();
  await page.getByRole('combobox', { name: 'Result' }).selectOption('Failed or denied');
  await list.getByRole('option', { name: /memory\/traced\.md OK/ }).first().waitFor({ state: 'detached' });
  await list.getByRole('option', { name: /memory\/nowhere\.md Not found/ }).waitFor();
  await page.getByRole('searchbox', { name: 'Search' }).fill('nowhere');
  await expect.poll(() => list.getByRole('option').count()).toBe(1);
  await page.getByRole('searchbox', { name: 'Search' }).fill('zzz');
  await page.getByText('No activity matches these filters').waitFor();
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await list.getByRole('option', { name: /memory\/traced\.md OK/ }).first().waitFor();
});

test('it is walked through by keys, and headings are passed over', async () => {
  const page = await here.open('activity');
  const list = page.getByRole('listbox', { name: 'Entries' });
  await list.getByRole('option').first().waitFor();
  await page.getByRole('checkbox', { name: 'Live' }).uncheck();
  await list.focus();
  await list.press('Home');
  await expect.poll(() => list.getByRole('option', { selected: true }).getAttribute('aria-posinset')).toBe('1');
  await list.press('ArrowDown');
  await expect.poll(() => list.getByRole('option', { selected: true }).getAttribute('aria-posinset')).toBe('2');
  await page.getByRole('region', { name: /^Details of/ }).waitFor();
});

test('the log is verified', async () => {
  const page = await here.open('activity');
  await page.getByRole('button', { name: 'Verify log' }).click();
  await page.getByText(/The log is intact: [\d,]+ entries verified\./).waitFor();
  expect((await here.gateway.cli('audit', 'verify')).code).toBe(0);
});

test('a budget is set on the usage page, holds, and shows what is used of it', async () => {
  const chat = (message: string) => here.gateway.ask('POST', '/api/chat', { sessionKey: 'agent:main:spend', message });
  expect((await chat('hello')).ok).toBe(true);
  const page = await here.open('usage');
  const budgets = page.getByRole('region', { name: 'Budgets' });
  await budgets.getByText('No budget is set.', { exact: false }).waitFor();
  await budgets.getByRole('button', { name: 'Set budget' }).click();
  const dialog = page.getByRole('dialog', { name: 'Budgets' });
  await dialog.getByRole('spinbutton', { name: 'Per day, all agents: tokens' }).fill('1500');
  await dialog.getByRole('spinbutton', { name: 'Per model call: dollars' }).fill('0.5');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.waitFor({ state: 'detached' });
  expect((await here.gateway.cli('config', 'get', 'models.limits.per_day.tokens')).stdout.trim()).toBe('1500');
  await expect.poll(() => budgets.getByRole('meter', { name: /Today, all agents: 100 % used/ }).count()).toBe(1);
  await budgets.getByText('1.5K of 1.5K tokens').waitFor();
  await budgets.getByText('$0.50').waitFor();
  expect((await chat('once more')).code, 'it holds').toBe('budget_exceeded');
  // Without it, the agent replies again.
  await budgets.getByRole('button', { name: 'Edit budgets' }).click();
  await dialog.getByRole('spinbutton', { name: 'Per day, all agents: tokens' }).fill('');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.waitFor({ state: 'detached' });
  expect((await chat('and again')).ok).toBe(true);
});

test.each([['desktop', { viewport: DESKTOP }], ['phone', { viewport: PHONE, hasTouch: true }]] as const)('an open drawer and a budget keep nobody out: %s', async (_name, options) => {
  const visitor = await here.visit({ ...options, colorScheme: 'light' });
  const page = await visitor.open('activity');
  await page.getByRole('listbox', { name: 'Entries' }).getByRole('option').first().click();
  await page.getByRole('region', { name: /^Details of/ }).waitFor();
  expect(await barriers(page)).toEqual([]);
  expect(await tooWide(page)).toBe(0);
  await page.goto(`${here.gateway.url}/#/usage`);
  await page.getByRole('region', { name: 'Budgets' }).getByRole('button').click();
  await page.getByRole('dialog').waitFor();
  expect(await barriers(page)).toEqual([]);
  expect(await tooWide(page)).toBe(0);
});
