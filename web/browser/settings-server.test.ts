// Settings that newer gateways offer: the file as text, and providers at any address.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ModelServer } from './others';
import { house } from './visit';

const server = new ModelServer('sk-local-0123456789abcdef', ['tiny']);
beforeAll(() => server.start());
afterAll(() => server.stop());
const here = house({ config: '# kept\n[egress]\nallow_private = ["127.0.0.0/8"]\n' });
const path = () => join(here.gateway.home, 'config.toml');
const file = () => readFile(path(), 'utf8');

test('the file is edited as text: problems are shown by line, and a valid file is saved', async () => {
  const page = await here.open('settings/file');
  const text = page.getByRole('textbox', { name: 'Content of config.toml' });
  await expect.poll(() => text.inputValue()).toContain('# kept');
  const before = await text.inputValue();
  await text.fill(`${before}\n[cron]\nmax_jobs = "many"\n`);
  await page.getByText(/^1 problem$/).waitFor();
  await page.getByRole('button', { name: /^Line \d+$/ }).click();
  expect(await text.evaluate((field: HTMLTextAreaElement) => field.value.slice(field.selectionStart, field.selectionEnd))).toContain('max_jobs');
  expect(await page.getByRole('button', { name: 'Save', exact: true }).isDisabled()).toBe(true);
  await text.fill(`${before}\n[cron]\nmax_jobs = 12\n`);
  await page.getByText('Valid', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await expect.poll(file).toContain('max_jobs = 12');
  expect(await file()).toContain('# kept');
});

test('a file that was changed elsewhere is not overwritten', async () => {
  const visitor = await here.visit();
  visitor.expected.add(409);
  const page = await visitor.open('settings/file');
  const text = page.getByRole('textbox', { name: 'Content of config.toml' });
  await expect.poll(() => text.inputValue()).toContain('# kept');
  await text.fill(`${await text.inputValue()}# mine\n`);
  await writeFile(path(), `${await file()}# theirs\n`);
  await page.getByText('Valid', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('alert').getByText('The file was changed elsewhere.', { exact: false }).waitFor();
  expect(await file()).toContain('# theirs');
  expect(await file()).not.toContain('# mine');
});

test('a provider at any OpenAI-compatible address is added and tested', async () => {
  const page = await here.open('settings/models');
  await page.getByRole('button', { name: 'Add a provider' }).first().click();
  const form = page.getByRole('form', { name: 'Add a provider' });
  await form.getByLabel('Provider').selectOption('CUSTOM');
  await form.getByLabel('Name').fill('mine');
  await form.getByRole('textbox', { name: 'Endpoint' }).fill(server.url);
  await form.getByLabel('Model', { exact: true }).fill('tiny');
  await form.getByLabel('API key').fill('sk-local-0123456789abcdef');
  await form.getByRole('button', { name: 'Save and test' }).click();
  await form.getByText(/mine\/tiny replied in/).waitFor();
  expect(await file()).toContain('[models.providers.mine]');
  expect(await file()).not.toContain('sk-local');
});
