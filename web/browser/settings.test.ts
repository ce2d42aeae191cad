// Settings: found, changed by a control that fits, refused with the reason, and shown to be active; tokens and secrets.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { barriers, tooWide } from './barriers';
import { DESKTOP, PHONE, house } from './visit';
import { connected } from './words';

const here = house({ script: 'turns:\n  - when: { user: "" }\n    text: Hello.\n', config: '[heartbeat.agents.main]\nevery_minutes = 45\n' });
const setting = async (path: string) => (await here.gateway.cli('config', 'get', path)).stdout.trim();
const file = () => readFile(join(here.gateway.home, 'config.toml'), 'utf8');
const find = (page: Page) => page.getByRole('searchbox', { name: 'Search all settings' });
const row = (page: Page, path: string) => page.getByRole('listitem').filter({ has: page.getByText(path, { exact: true }) });

test('the sections are in order, with models, tokens and secrets first, and each has an address', async () => {
  const page = await here.open('settings');
  const links = page.getByRole('navigation', { name: 'Sections' }).getByRole('link');
  await page.getByRole('region', { name: 'Models', exact: true }).waitFor();
  expect((await links.allInnerTexts()).map((text) => text.trim()).slice(0, 4)).toEqual(['Models', 'Tokens', 'Secrets', 'Appearance']);
  await links.filter({ hasText: 'Limits' }).click();
  await page.getByRole('heading', { level: 2, name: 'Limits' }).waitFor();
  expect(page.url()).toMatch(/#\/settings\/limits$/);
  await page.reload();
  await row(page, 'limits.calls_per_minute').waitFor();
  // Nothing reads null: what is not set says its default.
  await links.filter({ hasText: 'General' }).click();
  await expect.poll(() => page.getByRole('combobox', { name: 'Timezone' }).getAttribute('placeholder')).toBe("Default (the machine's)");
  expect(await page.getByRole('main').innerText()).not.toMatch(/\bnull\b/);
});

test('a wrong value is refused with the reason, a right one is saved and active', async () => {
  const visitor = await here.visit();
  visitor.expected.add(400).add(422);
  const page = await visitor.open('settings');
  const before = await setting('cron.max_concurrent_runs');
  await find(page).fill('cron.max_concurrent_runs');
  const many = page.getByRole('spinbutton', { name: 'Maximum concurrent runs' });
  await many.fill('-4');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  expect(await many.evaluate((field: HTMLInputElement) => field.validationMessage)).toContain('1');
  expect(await setting('cron.max_concurrent_runs'), 'nothing changed').toBe(before);
  await many.fill('3');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await row(page, 'cron.max_concurrent_runs').getByText('Saved and active').waitFor();
  expect(await setting('cron.max_concurrent_runs')).toBe('3');
  expect(await file()).toMatch(/max_concurrent_runs\s*=\s*3/);

  // What only the gateway can judge is refused by it, in its words.
  await find(page).fill('timezone');
  const zone = page.getByRole('combobox', { name: 'Timezone' });
  await zone.fill('Mars/Olympus');
  await zone.press('Enter');
  await page.getByRole('alert').getByText(/timezone/).first().waitFor();
  await zone.fill('Europe/Lisbon');
  await zone.press('Enter');
  await row(page, 'timezone').getByText('Saved and active').waitFor();
  expect(await setting('timezone')).toContain('Europe/Lisbon');

  // It goes back to its default by a button that says which.
  await find(page).fill('cron.max_concurrent_runs');
  await page.getByRole('button', { name: 'Reset to default (4): Maximum concurrent runs' }).click();
  await expect.poll(() => setting('cron.max_concurrent_runs')).toBe('4');
  await expect.poll(() => many.inputValue()).toBe('4');
});

test('each kind of value has a control of its own', async () => {
  const page = await here.open('settings/limits');
  // A size has a unit.
  const size = page.getByRole('spinbutton', { name: 'Result size' });
  await expect.poll(() => size.inputValue()).toBe('1');
  expect(await page.getByRole('combobox', { name: 'Unit of Result size' }).inputValue()).toBe('MiB');
  await size.fill('512');
  await page.getByRole('combobox', { name: 'Unit of Result size' }).selectOption('KiB');
  await row(page, 'limits.result_bytes').getByRole('button', { name: 'Save', exact: true }).click();
  await expect.poll(() => setting('limits.result_bytes')).toBe(String(512 * 1024));
  // A choice is a select, and active at once.
  await page.goto(`${here.gateway.url}/#/settings/jobs`);
  await page.getByRole('combobox', { name: 'Missed', exact: true }).selectOption('skip');
  await expect.poll(() => setting('cron.missed')).toContain('skip');
  // A switch.
  const enabled = row(page, 'heartbeat.enabled').getByRole('switch');
  await enabled.uncheck();
  await row(page, 'heartbeat.enabled').getByText('Saved and active').waitFor();
  expect(await setting('heartbeat.enabled')).toBe('false');
  // A list is chips.
  await page.goto(`${here.gateway.url}/#/settings/network`);
  const hosts = row(page, 'allowed_hosts');
  await hosts.getByRole('textbox').fill('desk.example');
  await hosts.getByRole('textbox').press('Enter');
  await hosts.getByRole('button', { name: 'Remove desk.example from Allowed hosts' }).waitFor();
  await hosts.getByRole('button', { name: 'Save', exact: true }).click();
  await expect.poll(() => setting('allowed_hosts')).toContain('desk.example');
  await hosts.getByRole('button', { name: 'Remove desk.example from Allowed hosts' }).click();
  await hosts.getByRole('button', { name: 'Save', exact: true }).click();
  await expect.poll(() => setting('allowed_hosts')).not.toContain('desk.example');
});

test('a change that needs a restart says so', async () => {
  const page = await here.open('settings/logs');
  const level = page.getByRole('listitem').filter({ has: page.getByRole('textbox', { name: 'Level', exact: true }) });
  await level.getByText('restart required').waitFor();
  await level.getByRole('textbox', { name: 'Level' }).fill('debug');
  await level.getByRole('button', { name: 'Save', exact: true }).click();
  await level.getByText('Saved, active after a restart').waitFor();
  await page.getByText('Restart the gateway to apply:').waitFor();
  expect(await setting('log.level')).toContain('debug');
});

test('what is half typed stays when another setting is saved', async () => {
  const page = await here.open('settings/limits');
  const calls = page.getByRole('spinbutton', { name: 'Calls per minute' });
  await calls.fill('77');
  const days = page.getByRole('spinbutton', { name: 'Artifact days' });
  await days.fill('14');
  await row(page, 'limits.artifact_days').getByRole('button', { name: 'Save', exact: true }).click();
  await row(page, 'limits.artifact_days').getByText('Saved and active').waitFor();
  expect(await calls.inputValue()).toBe('77');
  expect(await setting('limits.calls_per_minute')).toBe('600');
});

test('an entry of a map is added and removed', async () => {
  const page = await here.open('settings/jobs');
  await page.getByRole('button', { name: 'Add to Heartbeat › Agents' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add to Agents' });
  await dialog.getByRole('textbox', { name: 'Name' }).fill('night');
  await dialog.getByRole('spinbutton', { name: 'every_minutes' }).fill('90');
  await dialog.getByRole('button', { name: 'Save', exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
  await row(page, 'heartbeat.agents.night.every_minutes').waitFor();
  expect(await setting('heartbeat.agents.night.every_minutes')).toBe('90');
  const entry = page.getByRole('group', { name: 'Heartbeat › Agents › night' });
  await entry.getByRole('button', { name: 'Remove heartbeat.agents.night' }).click();
  await entry.getByRole('button', { name: /Remove it\?/ }).click();
  await entry.waitFor({ state: 'detached' });
  expect(await file()).not.toContain('night');
});

test('the search finds settings by name, meaning and value, and sections by what is in them', async () => {
  const page = await here.open('settings');
  await find(page).fill('expires approval');
  await row(page, 'limits.approval_minutes').waitFor();
  await find(page).fill('language');
  await page.getByRole('region', { name: 'Appearance' }).waitFor();
  await find(page).fill('no such setting anywhere');
  await page.getByText('No results for “no such setting anywhere”').waitFor();
  // A link from elsewhere leads to what it names.
  await page.goto(`${here.gateway.url}/#/settings?find=heartbeat.enabled`);
  await row(page, 'heartbeat.enabled').waitFor();
  expect(await find(page).inputValue()).toBe('heartbeat.enabled');
});

test('a token is created with limits, shown once, and revoked', async () => {
  const page = await here.open('settings/tokens');
  const tokens = page.getByRole('region', { name: 'Tokens' });
  await tokens.getByRole('button', { name: 'Create token' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox', { name: 'Name' }).fill('robot');
  await dialog.getByRole('combobox', { name: 'Tools' }).fill('gsv__ReadFile');
  await dialog.getByRole('combobox', { name: 'Tools' }).press('Enter');
  await dialog.getByRole('spinbutton', { name: 'Expires in (days)' }).or(dialog.getByRole('combobox', { name: 'Expires in (days)' })).fill('30');
  await dialog.getByRole('button', { name: 'Create', exact: true }).click();
  const made = (await dialog.getByRole('group', { name: 'text' }).innerText()).trim();
  await dialog.getByRole('button', { name: 'Copy token' }).waitFor();
  await dialog.getByRole('button', { name: 'Done' }).click();
  expect(await page.content(), 'it is shown once').not.toContain(made);
  const as = (tool: string, args: unknown) => fetch(`${here.gateway.url}/api/tools/${tool}`, { method: 'POST', headers: { authorization: `Bearer ${made}`, 'content-type': 'application/json' }, body: JSON.stringify(args) });
  await here.gateway.call('gsv__WriteFile', { path: 'memory/for-robots.md', content: 'beep' });
  expect((await as('gsv__ReadFile', { path: 'memory/for-robots.md' })).status).toBe(200);
  expect((await as('gsv__WriteFile', { path: 'memory/x.md', content: '' })).status).toBe(403);
  const item = tokens.getByRole('listitem').filter({ hasText: 'robot' });
  await item.getByText(/^in (29|30) days$/).waitFor();
  await item.getByRole('button', { name: 'Revoke robot' }).click();
  await item.getByRole('button', { name: 'Revoke? Revoke robot' }).click();
  await expect.poll(async () => (await as('gsv__ReadFile', { path: 'memory/for-robots.md' })).status).toBe(401);
  await page.getByRole('checkbox', { name: 'Show revoked and expired tokens' }).check();
  await item.getByText('Revoked', { exact: true }).waitFor();
});

test('a secret is added, replaced and removed, and never shown', async () => {
  const page = await here.open('settings/secrets');
  const secrets = page.getByRole('region', { name: 'Secrets' });
  const names = async () => (await here.gateway.get<{ names: string[] }>('/api/secrets')).names;
  await secrets.getByRole('button', { name: 'Add secret' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox', { name: 'Name' }).fill('weather-key');
  await dialog.getByLabel('Value').fill('sunny-side-up-123');
  await dialog.getByRole('button', { name: 'Save', exact: true }).click();
  await secrets.getByText('weather-key').waitFor();
  expect(await names()).toEqual(['weather-key']);
  await secrets.getByRole('button', { name: 'Replace weather-key' }).click();
  await dialog.getByLabel('Value').fill('rain-is-coming-456');
  await dialog.getByRole('button', { name: 'Save', exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
  for (const secret of ['sunny-side-up-123', 'rain-is-coming-456']) expect(await page.content()).not.toContain(secret);
  await secrets.getByRole('button', { name: 'Remove weather-key' }).click();
  await secrets.getByRole('button', { name: 'Remove this secret? Remove weather-key' }).click();
  await secrets.getByText(/No secrets yet/).waitFor();
  expect(await names()).toEqual([]);
});

test('theme, language and notifications are chosen here and kept by the browser', async () => {
  const page = await here.open('settings/appearance', { colorScheme: 'light', permissions: ['notifications'] });
  const notify = page.getByRole('checkbox', { name: 'Notify me about new requests' });
  await notify.check();
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  await page.getByRole('radio', { name: 'Dark' }).check();
  await expect.poll(ground).not.toBe(light);
  await page.getByRole('combobox', { name: 'Language' }).selectOption('Deutsch');
  await page.getByRole('heading', { level: 1, name: 'Einstellungen' }).waitFor();
  await page.getByRole('radio', { name: 'Dunkel' }).waitFor();
  expect(await page.evaluate(() => document.documentElement.lang)).toBe('de');
  await page.getByRole('combobox', { name: 'Sprache' }).selectOption('日本語');
  await page.getByRole('heading', { level: 1, name: '設定' }).waitFor();
  await page.getByRole('combobox', { name: '言語' }).selectOption('English');
  await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor();
  await page.getByRole('radio', { name: 'Dark' }).and(page.locator(':checked')).waitFor();
  expect(await notify.isChecked()).toBe(true);
});

test.each([['desktop', { viewport: DESKTOP }], ['phone', { viewport: PHONE, hasTouch: true }]] as const)('no section keeps anybody out, and none is wider than the screen: %s', { timeout: 400_000 }, async (_name, options) => {
  const visitor = await here.visit({ ...options, colorScheme: 'light' });
  const page = await visitor.open('settings');
  await connected(page).first().waitFor({ state: 'attached' });
  const wrong: string[] = [];
  for (const section of ['models', 'tokens', 'secrets', 'appearance', 'general', 'agents', 'tools', 'jobs', 'network', 'limits']) {
    await page.goto(`${here.gateway.url}/#/settings/${section}`);
    await visitor.settled(page);
    for (const one of await barriers(page)) wrong.push(`${section}: ${one}`);
    if ((await tooWide(page)) > 0) wrong.push(`${section} is too wide`);
  }
  await page.goto(`${here.gateway.url}/#/settings/tokens`);
  await page.getByRole('button', { name: 'Create token' }).click();
  await page.getByRole('dialog').waitFor();
  for (const one of await barriers(page)) wrong.push(`a new token: ${one}`);
  await page.keyboard.press('Escape');
  await page.goto(`${here.gateway.url}/#/settings/models`);
  await page.getByRole('button', { name: 'Add a provider' }).click();
  await page.getByRole('dialog').getByRole('form').waitFor();
  for (const one of await barriers(page)) wrong.push(`a new provider: ${one}`);
  expect(wrong).toEqual([]);
});
