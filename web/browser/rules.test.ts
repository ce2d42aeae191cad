// The rules page: rules are added, edited, moved and removed, come from templates, and explain themselves.

import { describe, expect, test } from 'vitest';
import type { Page } from 'playwright-core';
import { SIZES, obstacles } from './barriers';
import { house } from './visit';

const here = house({
  config: `
[[policy.rules]]
decision = "ask"
tools = ["bash"]
reason = "shell commands are reviewed"
[[policy.rules]]
decision = "deny"
tools = ["url_fetch"]
when.url.host = ["*.example.org"]
`,
});

type Rule = { decision: string; tools: string[]; effects?: string[]; agents?: string[]; when?: Record<string, Record<string, unknown>>; reason?: string };
const rules = async () => (await here.gateway.get<{ rules: Rule[] }>('/api/policy')).rules;
const restore = async (before: Rule[]) => expect((await here.gateway.ask('PUT', '/api/config', { path: 'policy.rules', value: before })).ok).toBe(true);
const list = (page: Page) => page.getByRole('region', { name: 'Rules', exact: true });
const opened = () => here.open('policy/rules');
const explain = (tool: string, args: unknown) => here.gateway.post<{ decision: string }>('/api/policy/explain', { tool, byAgent: true, arguments: args });

test('a rule is added with a condition, edited, moved up and removed', async () => {
  const before = await rules();
  const page = await here.open('policy/rules');
  await list(page).getByRole('button', { name: 'Add rule' }).click();
  const form = page.getByRole('dialog', { name: 'New rule' });
  await form.getByRole('radio', { name: /^Deny/ }).check();
  await form.getByRole('combobox', { name: 'Tools' }).fill('gsv__WriteFile, write_file');
  await form.getByRole('button', { name: 'Add condition' }).click();
  await form.getByRole('textbox', { name: 'Argument 1' }).fill('path');
  await form.getByRole('combobox', { name: 'Condition 1' }).selectOption('starts with');
  await form.getByRole('textbox', { name: 'Value 1' }).fill('private/');
  await form.getByRole('textbox', { name: 'Reason' }).fill('private stays private');
  await form.getByRole('button', { name: 'Save rule' }).click();
  await form.waitFor({ state: 'detached' });
  const added = { decision: 'deny', tools: ['gsv__WriteFile', 'write_file'], when: { path: { starts_with: 'private/' } }, reason: 'private stays private' };
  expect((await rules()).at(-1)).toMatchObject(added);
  await list(page).getByText('path starts with "private/"').waitFor();
  expect((await explain('gsv__WriteFile', { path: 'private/a.md', content: '' })).decision).toBe('deny');
  expect((await explain('gsv__WriteFile', { path: 'public/a.md', content: '' })).decision, 'the control').toBe('allow');

  await list(page).getByRole('button', { name: 'Move up rule 3' }).click();
  await expect.poll(async () => (await rules()).map((one) => one.decision)).toEqual(['ask', 'deny', 'deny']);
  await expect.poll(async () => (await rules())[1]).toMatchObject(added);
  await list(page).getByRole('button', { name: 'Edit rule 2' }).click();
  const edit = page.getByRole('dialog', { name: 'Rule 2' });
  await edit.getByRole('radio', { name: /^Ask/ }).check();
  await edit.getByRole('button', { name: 'Save rule' }).click();
  await expect.poll(async () => (await rules())[1]).toMatchObject({ ...added, decision: 'ask' });
  const remove = list(page).getByRole('button', { name: /Remove rule 2|Confirm\? Remove rule 2/ });
  await remove.click();
  await remove.click();
  await expect.poll(rules).toEqual(before);
});

test('a rule that the gateway refuses stays in its form with the reason, and nothing is saved', async () => {
  const visitor = await here.visit();
  visitor.expected.add(400).add(422);
  const before = await rules();
  const page = await visitor.open('policy/rules');
  await list(page).getByRole('button', { name: 'Add rule' }).click();
  const form = page.getByRole('dialog', { name: 'New rule' });
  await form.getByRole('button', { name: 'Add condition' }).click();
  await form.getByRole('textbox', { name: 'Argument 1' }).fill('path');
  await form.getByRole('combobox', { name: 'Condition 1' }).selectOption('matches the expression');
  await form.getByRole('textbox', { name: 'Value 1' }).fill('(open');
  await form.getByRole('button', { name: 'Save rule' }).click();
  await form.getByRole('alert').waitFor();
  expect(await rules()).toEqual(before);
  await form.getByRole('textbox', { name: 'Value 1' }).fill('(closed)');
  await form.getByRole('button', { name: 'Save rule' }).click();
  await form.waitFor({ state: 'detached' });
  expect(await rules()).toHaveLength(before.length + 1);
  await restore(before);
});

test('a template asks for what it needs, shows its rules first, and does what it says', async () => {
  const before = await rules();
  const page = await opened();
  await list(page).getByRole('button', { name: 'From template' }).click();
  await page.getByRole('dialog', { name: 'Rule templates' }).getByRole('button', { name: /^Stay inside this folder/ }).click();
  const dialog = page.getByRole('dialog', { name: 'Stay inside this folder' });
  await dialog.getByRole('textbox', { name: 'Folder' }).fill('projects/site');
  await dialog.getByRole('definition').filter({ hasText: 'path is outside projects/site/' }).waitFor();
  expect(await rules(), 'reading it adds nothing').toEqual(before);
  await dialog.getByRole('button', { name: 'Add 3 rules' }).click();
  await dialog.waitFor({ state: 'detached' });
  await list(page).getByText('path is outside projects/site/').waitFor();
  const decision = async (path: string) => (await explain('gsv__WriteFile', { path, content: 'x' })).decision;
  expect(await decision('projects/site/index.html')).toBe('allow');
  expect(await decision('projects/other/index.html')).toBe('deny');
  expect(await decision('projects/site/../../SOUL.md')).not.toBe('allow');
  expect((await explain('tool::shell_exec', { argv: ['ls'] })).decision).toBe('ask');
  await restore(before);
});

test('a website is allowed by a template, for one agent', async () => {
  const before = await rules();
  const page = await opened();
  await list(page).getByRole('button', { name: 'From template' }).click();
  await page.getByRole('button', { name: /^Allow this website/ }).click();
  const dialog = page.getByRole('dialog', { name: 'Allow this website' });
  await dialog.getByRole('textbox', { name: 'Websites' }).fill('https://docs.example.com/start');
  await dialog.getByRole('combobox', { name: 'Agent' }).selectOption('main');
  await dialog.getByRole('button', { name: 'Add rule' }).click();
  await dialog.waitFor({ state: 'detached' });
  expect((await rules()).at(-1)).toMatchObject({ decision: 'allow', agents: ['main'], when: { url: { host: ['docs.example.com'] } } });
  await restore(before);
});

test('a test says which rule decides and marks it, or what applies without one', async () => {
  const page = await here.open('policy/rules');
  const form = page.getByRole('region', { name: 'Test rules' });
  const result = form.getByRole('group', { name: 'Test result' });
  await form.getByRole('combobox', { name: 'Tool' }).fill('url_fetch');
  await form.getByRole('textbox', { name: 'url' }).fill('https://www.example.org/');
  await form.getByRole('button', { name: 'Test', exact: true }).click();
  await result.getByText('It would not run.').waitFor();
  await result.getByText('Rule 2 is the first that matches. The rule before it does not match.').waitFor();
  expect(await list(page).getByRole('listitem').nth(1).getAttribute('aria-current')).toBe('true');

  await form.getByRole('textbox', { name: 'url' }).fill('https://example.com/');
  await result.waitFor({ state: 'detached' });
  await form.getByRole('button', { name: 'Test', exact: true }).click();
  await result.getByText(/No rule matches\. Default:/).waitFor();
  expect(await list(page).getByRole('listitem').nth(1).getAttribute('aria-current')).toBeNull();

  await form.getByRole('combobox', { name: 'Tool' }).fill('bash');
  await form.getByRole('textbox', { name: 'cmd' }).fill('ls');
  await form.getByRole('button', { name: 'Test', exact: true }).click();
  await result.getByText('It would need your approval.').waitFor();
  await result.getByText('Reason: shell commands are reviewed').waitFor();
});

test('the pages speak German and Japanese', async () => {
  const german = await here.open('policy/rules', { locale: 'de-DE' });
  await german.getByRole('heading', { level: 1, name: 'Regeln' }).waitFor();
  await german.getByRole('button', { name: 'Aus Vorlage' }).waitFor();
  const japanese = await here.open('policy/rules', { locale: 'ja-JP' });
  await japanese.getByRole('heading', { level: 1, name: 'ルール' }).waitFor();
  await japanese.getByText('最初に一致したルールが適用されます。', { exact: false }).waitFor();
});

describe.each(SIZES)('%s', (_name, options) => {
  test('the rules, their form, the templates and a test keep nobody out', async () => {
    const visitor = await here.visit(options);
    const page = await visitor.open('policy/rules');
    await visitor.settled(page);
    const wrong: string[] = [];
    const look = async (what: string) => wrong.push(...(await obstacles(page)).map((one) => `${what}: ${one}`));
    const form = page.getByRole('region', { name: 'Test rules' });
    await form.getByRole('combobox', { name: 'Tool' }).fill('bash');
    await form.getByRole('button', { name: 'Test', exact: true }).click();
    await form.getByRole('group', { name: 'Test result' }).waitFor();
    await look('the page');
    await page.getByRole('button', { name: 'Edit rule 2' }).click();
    await page.getByRole('dialog').waitFor();
    await look('the form');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'From template' }).click();
    await page.getByRole('dialog').waitFor();
    await look('the templates');
    await page.getByRole('button', { name: /^Allow these programs/ }).click();
    await page.getByRole('textbox', { name: 'Programs' }).fill('git');
    await look('a template');
    expect(wrong).toEqual([]);
  });
});
