// The catalogue: found by meaning, called by a form, looked up in the audit.

import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SIZES, obstacles } from './barriers';
import { soon } from './gateway';
import { McpServer } from './others';
import { house } from './visit';

const here = house({ config: '[egress]\nallow_private = ["127.0.0.0/8"]\n[[policy.rules]]\ndecision = "ask"\ntools = ["gsv__DeleteFile"]\n' });
const form = 'Try it';
const WHEN = {
  oneOf: [
    { title: 'Once', type: 'object', properties: { kind: { const: 'once' }, day: { type: 'string', format: 'date' } }, required: ['kind', 'day'] },
    { title: 'Every week', type: 'object', properties: { kind: { const: 'weekly' }, hour: { type: 'integer', default: 9 } }, required: ['kind'] },
  ],
};
const diary = new McpServer([{ name: 'plan', description: 'Plans something.', inputSchema: { type: 'object', properties: { when: WHEN }, required: ['when'] }, answers: 'planned' }]);
beforeAll(() => diary.start());
afterAll(() => diary.stop());

test('tools are found in plain words, as agents find them', async () => {
  const page = await here.open('tools');
  const list = page.getByRole('listbox', { name: 'Tools' });
  await list.getByRole('option').first().waitFor();
  const { tools } = await here.gateway.get<{ tools: { name: string }[] }>('/api/tools');
  await page.getByText(`${tools.length} tools`, { exact: true }).waitFor();

  const request = 'change some text inside a document';
  await page.getByRole('searchbox', { name: 'Search tools' }).fill(request);
  const found = await here.gateway.call<{ results: { id: string }[] }>('capabilities_discover', { request, types: ['tool'] });
  const ids = found.results.map((one) => one.id);
  expect(ids.length).toBeGreaterThan(0);
  expect(ids.every((id) => !id.includes('change')), 'no name holds the words').toBe(true);
  const names = async () => (await list.getByRole('option').allInnerTexts()).map((text) => text.split('\n')[0]);
  await expect.poll(names).toContain('gsv__EditFile');
  expect((await names()).length).toBeLessThan(tools.length);
});

test('a family shows its own tools only', async () => {
  const page = await here.open('tools');
  const list = page.getByRole('listbox', { name: 'Tools' });
  const { tools } = await here.gateway.get<{ tools: { name: string; family: string }[] }>('/api/tools');
  const family = tools.find((one) => one.name === 'todo_update')?.family ?? '';
  const others = tools.filter((one) => one.family !== family);
  await list.getByRole('option').first().waitFor();
  await page.getByRole('combobox', { name: 'Family', exact: true }).selectOption(family);
  await page.getByText(new RegExp(`^${tools.length - others.length} tools?$`)).waitFor();
  await list.getByRole('option', { name: 'todo_update' }).waitFor();
});

test('a tool runs from its form, and its entry is in the audit', async () => {
  const page = await here.open('tools');
  await page.getByRole('searchbox', { name: 'Search tools' }).fill('gsv__WriteFile');
  await page.getByRole('listbox', { name: 'Tools' }).getByRole('option', { name: 'gsv__WriteFile' }).click();
  await page.getByRole('heading', { name: form }).waitFor();
  await page.getByRole('textbox', { name: 'path' }).fill('memory/from-the-form.md');
  await page.getByRole('textbox', { name: 'content' }).fill('said in a form');
  await page.getByRole('button', { name: 'Run' }).click();
  const result = page.getByRole('region', { name: 'Result' });
  await result.getByRole('heading', { name: 'Result' }).waitFor();

  const read = await here.gateway.cli('call', 'gsv__ReadFile', JSON.stringify({ path: 'memory/from-the-form.md' }));
  expect(read.code, read.stderr).toBe(0);
  expect(read.stdout).toContain('said in a form');

  const link = result.getByRole('link', { name: /Audit entry \d+/ });
  const seq = Number(/\d+/.exec(await link.innerText())?.[0]);
  const { entries } = await here.gateway.get<{ entries: { seq: number; tool: string; status: string; caller: string }[] }>('/api/audit?limit=20');
  const entry = entries.find((one) => one.seq === seq);
  expect(entry).toMatchObject({ tool: 'gsv__WriteFile', status: 'ok' });
  await link.click();
  const shown = page.getByRole('region', { name: 'Details of gsv__WriteFile' });
  await shown.getByRole('definition').filter({ hasText: 'memory/from-the-form.md' }).waitFor();
  await shown.getByText('Log entries').click();
  await shown.getByText(new RegExp(`\\b${seq}\\b`)).first().waitFor();
});

test('a wrong argument is refused by the name of its parameter, and nothing happens', async () => {
  const visitor = await here.visit();
  visitor.expected.add(400).add(422);
  const page = await visitor.open('tools/gsv__WriteFile');
  await page.getByRole('textbox', { name: 'content' }).fill('nowhere');
  const before = await here.gateway.get<{ entries: { seq: number }[] }>('/api/audit?limit=1');
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByRole('alert').filter({ hasText: /path|needed|required/ }).waitFor();
  expect(await page.getByRole('textbox', { name: 'path' }).getAttribute('aria-invalid')).toBe('true');
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute('aria-invalid'));
  await expect.poll(focused).toBe('true');
  const after = await here.gateway.get<{ entries: { seq: number }[] }>('/api/audit?limit=1');
  expect(after.entries[0]?.seq, 'it was not even sent').toBe(before.entries[0]?.seq);

  // What only the gateway can know is wrong is shown with its words, which name the parameter.
  await page.getByRole('textbox', { name: 'path' }).fill('../outside.md');
  await page.getByRole('button', { name: 'Run' }).click();
  const refused = page.getByRole('region', { name: 'Result' });
  await refused.getByRole('heading', { name: 'Not run' }).waitFor();
  const told = await here.gateway.ask('POST', '/api/tools/gsv__WriteFile', { path: '../outside.md', content: 'nowhere' });
  expect(told.error).toContain('path');
  expect(await refused.innerText()).toContain(told.error?.split('\n')[0]);
});

test('arguments can be written as JSON, and unknown ones are refused by name', async () => {
  const visitor = await here.visit();
  visitor.expected.add(400).add(422);
  const page = await visitor.open('tools/gsv__ReadFile');
  await page.getByRole('button', { name: 'Edit as JSON' }).click();
  const json = page.getByRole('textbox', { name: 'Arguments as JSON' });
  await json.fill('{ "path": "memory/a.md", "colour": "red" }');
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByText('colour is not a parameter', { exact: false }).first().waitFor();
  await page.getByRole('region', { name: 'Result' }).getByText(/colour/).first().waitFor();
  await json.fill('{ "path": ');
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByText(/Not valid JSON/).waitFor();
});

test('a call that needs approval is asked about beside its form, and goes through once it is given', async () => {
  await here.gateway.call('gsv__WriteFile', { path: 'memory/to-go.md', content: 'x' });
  const visitor = await here.visit();
  for (const status of [403, 409, 428]) visitor.expected.add(status);
  const page = await visitor.open('tools/gsv__DeleteFile');
  await page.getByRole('textbox', { name: 'path' }).fill('memory/to-go.md');
  await page.getByRole('button', { name: 'Run' }).click();
  const ask = page.getByRole('article', { name: 'Approval needed for gsv__DeleteFile' });
  await ask.getByRole('definition').filter({ hasText: 'memory/to-go.md' }).waitFor();
  const there = () => here.gateway.ask('POST', '/api/tools/gsv__ReadFile', { path: 'memory/to-go.md' });
  expect((await there()).ok, 'it is still there').toBe(true);
  await ask.getByRole('button', { name: 'Allow once' }).click();
  await page.getByRole('region', { name: 'Result' }).getByRole('heading', { name: 'Result' }).waitFor();
  await expect.poll(async () => (await there()).code).toBe('not_found');
});

test('a choice of shapes has the fields of the one that is chosen', async () => {
  await here.gateway.post('/api/servers', { name: 'diary', server: { url: diary.url } });
  await soon('its tools are known', async () => (await here.gateway.get<{ tools: { name: string }[] }>('/api/tools')).tools.some((one) => one.name === 'diary__plan'));
  const page = await here.open('tools/diary__plan');
  const which = page.getByRole('combobox', { name: 'when' });
  await page.getByRole('button', { name: 'Run' }).click();
  await expect.poll(() => which.getAttribute('aria-invalid')).toBe('true');
  await which.selectOption('Every week');
  await page.getByText('Default: 9').waitFor();
  expect(await page.getByRole('alert').count(), 'what was wrong before is not wrong with it').toBe(0);
  await which.selectOption('Once');
  await page.getByText('Date, for example 2027-03-01').waitFor();
  await page.getByRole('textbox', { name: 'day' }).fill('2027-03-01');
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByRole('region', { name: 'Result' }).getByText('planned').waitFor();
  // A call that only reads is written down just after its answer.
  const noted = async () => (await here.gateway.get<{ entries: { tool: string; summary: string }[] }>('/api/audit?limit=50')).entries.filter((one) => one.tool === 'diary__plan').map((one) => one.summary);
  await expect.poll(noted).toContainEqual(expect.stringMatching(/"kind": ?"once"/));
  await page.getByRole('button', { name: 'Edit as JSON' }).click();
  await page.getByRole('button', { name: 'Edit as form' }).click();
  expect(await page.getByRole('textbox', { name: 'day' }).inputValue()).toBe('2027-03-01');
});

test('a form outlasts its machine, and says that it is gone', async () => {
  const { code } = await here.gateway.post<{ code: string }>('/api/nodes/codes', { nodeId: 'barn' });
  const program = await here.gateway.node(code, join(here.gateway.folder, 'barn'));
  await soon('it is there', async () => (await here.gateway.get<{ tools: { name: string }[] }>('/api/tools')).tools.some((one) => one.name === 'barn__Bash'));
  const page = await here.open('tools/barn__Bash');
  await page.getByRole('textbox', { name: 'command' }).fill('a long thought');
  await program.kill();
  await page.getByText('barn is not connected', { exact: false }).waitFor();
  expect(await page.getByRole('textbox', { name: 'command' }).inputValue()).toBe('a long thought');
  expect(await page.getByRole('button', { name: 'Run' }).isDisabled()).toBe(true);
});

test('tools stand below their families, and a heading is not a choice', async () => {
  const page = await here.open('tools');
  const list = page.getByRole('listbox', { name: 'Tools' });
  const first = list.getByRole('option').first();
  await first.getByText('Data & gateway').waitFor();
  await list.focus();
  await page.keyboard.press('Home');
  await page.getByRole('heading', { level: 2, name: 'capabilities_discover' }).waitFor();
  expect(await first.getAttribute('aria-selected')).toBe('false');
});

test('an example fills in the form, and a result is shown as what it is and as JSON', async () => {
  await here.gateway.call('gsv__WriteFile', { path: 'memory/example.md', content: '# Example\n\nWith **words**.\n' });
  const page = await here.open('tools/gsv__ReadFile');
  await page.getByRole('button', { name: 'Insert example' }).click();
  expect(await page.getByRole('textbox', { name: 'path' }).inputValue()).toBe('memory/example.md');
  await page.getByRole('button', { name: 'Run' }).click();
  const result = page.getByRole('region', { name: 'Result' });
  await result.getByRole('heading', { name: 'Example' }).waitFor();
  await result.getByRole('button', { name: 'JSON' }).click();
  await result.getByText('"path": "memory/example.md"').waitFor();
});

test('a program shows its output and its exit status', async () => {
  const page = await here.open('tools/bash');
  await page.getByRole('textbox', { name: 'cmd' }).fill('echo out; echo err >&2; exit 3');
  await page.getByRole('button', { name: 'Run' }).click();
  const result = page.getByRole('region', { name: 'Result' });
  await result.getByText('Exit status 3').waitFor();
  await result.getByText('Error output').waitFor();
});

describe.each(SIZES)('%s', (_name, options) => {
  test('the list, a form and a result keep nobody out', async () => {
    const visitor = await here.visit(options);
    const wrong: string[] = [];
    for (const place of ['tools', 'tools/gsv__SessionsList']) {
      const page = await visitor.open(place);
      await visitor.settled(page);
      if (place !== 'tools') {
        await page.getByRole('button', { name: 'Run' }).click();
        await page.getByRole('region', { name: 'Result' }).waitFor();
      }
      wrong.push(...(await obstacles(page)).map((one) => `${place}: ${one}`));
      await page.close();
    }
    expect(wrong).toEqual([]);
  });
});
