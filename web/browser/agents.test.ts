// Agents as their owner makes them: created, edited, tried, copied and deleted; nothing typed is lost on the way.

import { describe, expect, test } from 'vitest';
import type { Page } from 'playwright-core';
import { SIZES, obstacles } from './barriers';
import { house } from './visit';
import { connected } from './words';

const here = house({
  config: `
[agents.scout]
system_prompt = "You look ahead."
tools = ["gsv__*", "web_search"]
mode = "read-only"
[sessions.reset]
mode = "manual"
`,
  script: `
models: [demo, small]
turns:
  - when: { user: who are you }
    text: I am the one you just made.
  - when: { user: "" }
    text: Yes.
`,
});

type Agent = { model?: string; system_prompt?: string; tools?: string[]; discover?: string[]; mode?: string; thinking?: string };
const config = async () => (await here.gateway.get<{ config: { agents: Record<string, Agent>; models: { fallbacks: string[]; limits: { per_agent: { dollars: number | null } } } } }>('/api/config')).config;
const agent = async (name: string) => (await config()).agents[name];
const write = (name: string, path: string, content: string) => here.gateway.post(`/api/tools/gsv__WriteFile?agent=${name}`, { path, content });
const read = async (name: string, path: string) => (await here.gateway.ask<{ content: string }>('POST', `/api/tools/gsv__ReadFile?agent=${name}`, { path })).result?.content;
const section = async (page: Page, name: string) => page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name, exact: true }).click();
async function save(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('You have unsaved changes.').waitFor({ state: 'detached' });
}
const confirm = async (page: Page, name: string) => {
  await page.getByRole('button', { name, exact: true }).click();
  await page.getByRole('button', { name: `Confirm? ${name}` }).click();
};
let made = 0;
/** An agent of its own for a test. */
async function fresh(settings: Agent = {}): Promise<string> {
  const name = `made-${(made += 1)}`;
  expect((await here.gateway.ask('PUT', '/api/config', { path: `agents.${name}`, value: settings })).ok).toBe(true);
  return name;
}

test('an agent is created, gets instructions, a model and a mode, and answers beside its form', async () => {
  const page = await here.open('agents');
  await page.getByRole('article', { name: 'scout' }).getByText('You look ahead.').waitFor();
  await page.getByRole('button', { name: 'New agent' }).click();
  const dialog = page.getByRole('dialog', { name: 'New agent' });
  const name = dialog.getByRole('textbox', { name: 'Name' });
  await name.fill('Not A Name');
  await dialog.getByRole('alert').getByText(/1–64/).waitFor();
  expect(await dialog.getByRole('button', { name: 'Create' }).isDisabled()).toBe(true);
  await name.fill('scout');
  await dialog.getByRole('alert').getByText('There is already an agent with this name.').waitFor();
  await name.fill('writer');
  await dialog.getByRole('textbox', { name: 'Instructions' }).fill('You write letters.');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('heading', { level: 1, name: 'writer' }).waitFor();
  expect(await agent('writer')).toMatchObject({ system_prompt: 'You write letters.' });

  await page.getByRole('textbox', { name: 'Instructions' }).fill('# Style\n\nYou write **short** letters.');
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByRole('region', { name: 'Preview of Instructions' }).getByRole('heading', { name: 'Style' }).waitFor();
  await section(page, 'Model');
  const model = page.getByRole('combobox', { name: 'Model', exact: true });
  await model.click();
  await model.fill('smal');
  await page.getByRole('listbox', { name: 'Models' }).getByRole('option', { name: 'scripted/small' }).click();
  await page.getByRole('combobox', { name: 'Reasoning' }).selectOption('Low');
  await section(page, 'Approvals');
  await page.getByRole('radio', { name: 'Auto' }).check();
  expect(await agent('writer'), 'nothing is saved before it is asked for').toMatchObject({ system_prompt: 'You write letters.', mode: null });
  await save(page);
  expect(await agent('writer')).toMatchObject({ system_prompt: '# Style\n\nYou write **short** letters.', model: 'scripted/small', thinking: 'low', mode: 'auto' });

  await page.getByRole('button', { name: 'Try it' }).click();
  const pane = page.getByRole('complementary', { name: 'Try it' });
  await pane.getByRole('textbox', { name: 'Message', exact: true }).fill('who are you');
  await page.keyboard.press('Enter');
  await pane.getByText('I am the one you just made.').waitFor();
  const { sessions } = await here.gateway.get<{ sessions: { agent: string; sessionKey: string }[] }>('/api/sessions');
  expect(sessions).toContainEqual(expect.objectContaining({ agent: 'writer', sessionKey: 'agent:writer:try' }));
});

test('what is typed outlasts another page, and is gone when it is discarded', async () => {
  const name = await fresh({ system_prompt: 'As it was.' });
  const page = await here.open(`agents/${name}`);
  const text = page.getByRole('textbox', { name: 'Instructions' });
  await text.fill('As it should be.');
  await page.getByText('You have unsaved changes.').waitFor();
  await page.getByRole('link', { name: 'All agents' }).click();
  await page.getByRole('article', { name }).getByText('Unsaved changes').waitFor();
  await page.getByRole('article', { name }).getByRole('link', { name: `Edit ${name}` }).click();
  await page.getByText('Your unsaved changes were restored.').waitFor();
  expect(await text.inputValue()).toBe('As it should be.');
  // Whoever closes the page is asked first.
  const asked = page.waitForEvent('dialog').then(async (dialog) => {
    const type = dialog.type();
    await dialog.dismiss();
    return type;
  });
  await page.close({ runBeforeUnload: true });
  expect(await asked).toBe('beforeunload');
  await page.getByRole('button', { name: 'Discard changes' }).click();
  await expect.poll(() => text.inputValue()).toBe('As it was.');
  expect(await agent(name)).toMatchObject({ system_prompt: 'As it was.' });
});

test('what the gateway refuses is said beside the field, and the rest is saved', async () => {
  const visitor = await here.visit();
  visitor.expected.add(400).add(422);
  const name = await fresh({ tools: ['gsv__ReadFile'] });
  const page = await visitor.open(`agents/${name}`);
  await page.getByRole('button', { name: 'AGENTS.md' }).click();
  await page.getByRole('textbox', { name: 'AGENTS.md' }).fill('Be kind.');
  await section(page, 'Tools');
  await page.getByRole('searchbox', { name: 'Search tools' }).fill('gsv__ReadFile');
  await page.getByRole('radiogroup', { name: 'gsv__ReadFile' }).getByText('Off').click();
  await page.getByText('No tool is on. At least one has to be.').waitFor();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('region', { name: 'Tools' }).getByRole('alert').getByText(/`tools` must not be empty/).waitFor();
  expect(await agent(name)).toMatchObject({ tools: ['gsv__ReadFile'] });
  await expect.poll(() => read(name, 'AGENTS.md')).toBe('Be kind.');
  await page.getByRole('radiogroup', { name: 'gsv__ReadFile' }).getByText('On', { exact: true }).click();
  await page.getByText('You have unsaved changes.').waitFor({ state: 'detached' });
});

test('tools are found and set one by one and by family, in three states', async () => {
  const name = await fresh();
  const page = await here.open(`agents/${name}/tools`);
  const tools = page.getByRole('region', { name: 'Tools' });
  await tools.getByText('New tools are on.', { exact: false }).waitFor();
  await tools.getByRole('searchbox', { name: 'Search tools' }).fill('web_search');
  await tools.getByRole('radiogroup', { name: 'web_search', exact: true }).getByText('On demand').click();
  await tools.getByRole('searchbox', { name: 'Search tools' }).fill('');
  await tools.getByRole('radiogroup', { name: 'All of Files, shell & web' }).getByText('Off').click();
  await tools.getByText('New tools are off', { exact: false }).waitFor();
  await save(page);
  const { tools: given = [], discover } = (await agent(name)) ?? {};
  expect(discover).toEqual(['web_search']);
  expect(given).toContain('gsv__*');
  expect(given.filter((one) => one.startsWith('tool::') || one === '*')).toEqual([]);
  type Shown = { agent: { directTools: string[]; discoveredTools: string[] } };
  const shown = (await here.gateway.get<Shown>(`/api/agents/${name}`)).agent;
  expect(shown.discoveredTools).toContain('web_search');
  expect(shown.directTools).toContain('bash');
  expect([...shown.directTools, ...shown.discoveredTools].filter((one) => one.startsWith('tool::'))).toEqual([]);
});

test('files of the prompt are edited, and what somebody else wrote meanwhile is not lost', async () => {
  const name = await fresh();
  await write(name, 'SOUL.md', 'Calm.\n');
  const page = await here.open(`agents/${name}`);
  await page.getByRole('button', { name: 'SOUL.md' }).click();
  const text = page.getByRole('textbox', { name: 'SOUL.md' });
  await expect.poll(() => text.inputValue()).toBe('Calm.\n');
  await text.fill('Calm and precise.\n');
  await write(name, 'SOUL.md', 'Wild.\n');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('This file was changed by someone else', { exact: false }).waitFor();
  expect(await read(name, 'SOUL.md')).toBe('Wild.\n');
  await save(page);
  expect(await read(name, 'SOUL.md')).toBe('Calm and precise.\n');
});

test('the editor formats what is selected', async () => {
  const name = await fresh();
  const page = await here.open(`agents/${name}`);
  const text = page.getByRole('textbox', { name: 'Instructions' });
  await text.fill('be brief');
  await text.selectText();
  await page.getByRole('button', { name: 'Bold' }).click();
  expect(await text.inputValue()).toBe('**be brief**');
  await page.keyboard.press('Control+z');
  expect(await text.inputValue()).toBe('be brief');
  await page.keyboard.press('Control+s');
  await page.getByText('You have unsaved changes.').waitFor({ state: 'detached' });
  expect(await agent(name)).toMatchObject({ system_prompt: 'be brief' });
});

test('skills are written, imported, switched off and deleted', async () => {
  const name = await fresh();
  const page = await here.open(`agents/${name}/skills`);
  const skills = page.getByRole('region', { name: 'Skills' });
  await skills.getByText('No skills').waitFor();
  await skills.getByRole('button', { name: 'New skill' }).click();
  const dialog = page.getByRole('dialog', { name: 'New skill' });
  await dialog.getByRole('textbox', { name: 'Name' }).fill('Weekly report');
  await dialog.getByRole('textbox', { name: 'When to use it' }).fill('When somebody wants the weekly report');
  await dialog.getByRole('button', { name: 'Continue' }).click();
  const editor = page.getByRole('dialog', { name: 'skills/weekly-report/SKILL.md' });
  const text = editor.getByRole('textbox', { name: 'Skill' });
  await text.fill(`${await text.inputValue()}Read the notes.\n`);
  // What is closed by mistake can be continued.
  await page.keyboard.press('Escape');
  await editor.waitFor({ state: 'detached' });
  await skills.getByRole('button', { name: 'Continue editing' }).click();
  await editor.getByRole('button', { name: 'Save', exact: true }).click();
  await skills.getByRole('listitem').filter({ hasText: 'weekly-report' }).getByText('Available').waitFor();
  expect(await read(name, 'skills/weekly-report/SKILL.md')).toBe('---\nname: weekly-report\ndescription: When somebody wants the weekly report\n---\n\nRead the notes.\n');

  await skills.getByLabel('Import from file').setInputFiles({ name: 'SKILL.md', mimeType: 'text/markdown', buffer: Buffer.from('---\nname: release\ndescription: How to release.\n---\n\nRun the tests.\n') });
  const release = skills.getByRole('listitem').filter({ hasText: 'How to release.' });
  await release.waitFor();
  expect(await read(name, 'skills/release/SKILL.md')).toContain('Run the tests.');
  await release.getByRole('checkbox', { name: 'release enabled' }).uncheck();
  await release.getByText('Off').waitFor();
  await confirm(page, 'Delete release');
  await release.waitFor({ state: 'detached' });
  expect(await read(name, 'skills/release/SKILL.md')).toBeUndefined();
});

test('a copy has the settings, files and skills of the other, and is deleted without it', async () => {
  const name = await fresh({ system_prompt: 'You review.', tools: ['gsv__*'] });
  await write(name, 'AGENTS.md', 'Be strict.');
  await write(name, 'skills/check/SKILL.md', '---\nname: check\ndescription: Checks.\n---\n\nCheck.\n');
  await write(name, 'MEMORY.md', 'A secret of its own.');
  const page = await here.open(`agents/${name}`);
  await page.getByRole('button', { name: 'Duplicate' }).click();
  const dialog = page.getByRole('dialog', { name: `Duplicate ${name}` });
  const copy = `${name}-2`;
  expect(await dialog.getByRole('textbox', { name: 'Name' }).inputValue()).toBe(copy);
  await dialog.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('heading', { level: 1, name: copy, exact: true }).waitFor();
  expect(await agent(copy)).toEqual(await agent(name));
  expect(await read(copy, 'AGENTS.md')).toBe('Be strict.');
  expect(await read(copy, 'skills/check/SKILL.md')).toContain('Check.');
  expect(await read(copy, 'MEMORY.md'), 'it remembers nothing').toBeUndefined();
  await confirm(page, `Delete ${copy}`);
  await page.getByRole('heading', { level: 1, name: 'Agents' }).waitFor();
  expect(await agent(copy)).toBeUndefined();
  expect(await agent(name)).toMatchObject({ system_prompt: 'You review.' });
});

test('memory, fallbacks and budget are saved where they belong', async () => {
  const name = await fresh();
  await write(name, 'memory/2026-11-01.md', 'Met Ada.\n');
  const page = await here.open(`agents/${name}/memory`);
  await page.getByRole('button', { name: '2026-11-01.md' }).click();
  const note = page.getByRole('textbox', { name: 'memory/2026-11-01.md' });
  await expect.poll(() => note.inputValue()).toBe('Met Ada.\n');
  await note.fill('Met Ada Lovelace.\n');
  await section(page, 'Model');
  const add = page.getByRole('combobox', { name: 'Add fallback model' });
  await add.click();
  await page.getByRole('option', { name: 'scripted/small' }).click();
  await section(page, 'Limits');
  await page.getByRole('spinbutton', { name: 'Dollars per day' }).fill('2.5');
  await save(page);
  expect(await read(name, 'memory/2026-11-01.md')).toBe('Met Ada Lovelace.\n');
  const now = await config();
  expect(now.models.fallbacks).toEqual(['scripted/small']);
  expect(now.models.limits.per_agent.dollars).toBe(2.5);
  await page.getByRole('spinbutton', { name: 'Dollars per day' }).fill('');
  await section(page, 'Model');
  await page.getByRole('button', { name: 'Remove scripted/small' }).click();
  await save(page);
  const later = await config();
  expect(later.models.fallbacks).toEqual([]);
  expect(later.models.limits.per_agent.dollars ?? null).toBeNull();
});

describe.each(SIZES)('%s', (_name, options) => {
  test('no section of an agent keeps anybody out', { timeout: 300_000 }, async () => {
    const visitor = await here.visit(options);
    const wrong: string[] = [];
    for (const place of ['agents', 'agents/scout', 'agents/scout/model', 'agents/scout/tools', 'agents/scout/skills', 'agents/scout/memory', 'agents/scout/approvals', 'agents/scout/limits']) {
      const page = await visitor.open(place);
      await connected(page).waitFor({ state: 'attached' });
      await visitor.settled(page);
      if (place.endsWith('tools')) await page.getByRole('button', { name: /^Essentials/ }).click();
      wrong.push(...(await obstacles(page)).map((one) => `${place}: ${one}`));
      if (place === 'agents/scout') {
        await page.getByRole('button', { name: 'Try it' }).click();
        await page.getByRole('complementary', { name: 'Try it' }).getByRole('textbox', { name: 'Message', exact: true }).waitFor();
        wrong.push(...(await obstacles(page)).map((one) => `Try it: ${one}`));
      }
      await page.close();
    }
    expect(wrong).toEqual([]);
  });
});
