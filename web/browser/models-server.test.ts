// Get started: models that run on the gateway's machine are found, and any endpoint is accepted.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ModelServer } from './others';
import { house } from './visit';

const KEY = 'sk-endpoint-0123456789abcdef';
const server = new ModelServer(KEY, ['tiny', 'huge']);
beforeAll(() => server.start());
afterAll(() => server.stop());
const here = house({ config: '[egress]\nallow_private = ["127.0.0.0/8"]\n' });

test('an endpoint that is no preset is connected by its base URL, and one of its models is chosen from a list', async () => {
  const visitor = await here.visit();
  const page = await visitor.open('welcome');
  const step = page.getByRole('region', { name: 'Choose a model' });
  await step.getByRole('radio', { name: 'Other endpoint' }).check();
  const form = step.getByRole('form', { name: 'Add a model' });
  await form.getByLabel('Base URL').fill(`${server.url}/`);
  await form.getByLabel('Name').fill('cellar');
  await form.getByLabel('API key').fill(KEY);
  await form.getByRole('button', { name: 'Connect', exact: true }).click();
  await form.getByText('2 models are available').waitFor();
  expect(await form.locator('datalist option').evaluateAll((all) => all.map((one) => (one as HTMLOptionElement).value))).toEqual(['tiny', 'huge']);
  await form.getByLabel('Model', { exact: true }).fill('huge');
  await form.getByRole('button', { name: 'Save and test' }).click();
  await step.getByText(/cellar\/huge responded in/).waitFor();
  const text = await readFile(join(here.gateway.home, 'config.toml'), 'utf8');
  expect(text).toContain('default = "cellar/huge"');
  expect(text).not.toContain(KEY);
});
