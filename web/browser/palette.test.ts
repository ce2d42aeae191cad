// The command palette: everything one can go to or do, by keys alone.

import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { german, t } from './texts';
import { PHONE, house } from './visit';
import { agent, connected, message } from './words';

const here = house({ script: 'turns:\n  - when: { user: "" }\n    text: The lighthouse stands on the northern cliff.\n' });
const palette = (page: Page): Locator => page.getByRole('dialog', { name: t('shell.palette') });
const group = (page: Page, name: string): Locator => palette(page).getByRole('group', { name });

/** Opens it and types. */
async function look(page: Page, words: string): Promise<void> {
  await connected(page).waitFor();
  await page.keyboard.press('Control+k');
  const field = page.getByRole('combobox', { name: t('shell.palette') });
  await field.waitFor();
  await field.fill(words);
}
/** The option on which Enter acts. */
const chosen = (page: Page) => palette(page).getByRole('option', { selected: true }).innerText();

test('without a word it offers actions, pages and conversations, and what was used last comes first', async () => {
  await here.gateway.post('/api/chat', { sessionKey: 'agent:main:harbour', message: 'hello' });
  const page = await here.open('usage');
  await look(page, '');
  for (const name of [t('shell.foundActions'), t('shell.foundPages')]) await group(page, name).waitFor();
  await group(page, t('shell.foundConversations')).getByRole('option', { name: 'harbour' }).waitFor();
  expect(await group(page, t('shell.foundRecent')).count()).toBe(0);
  await page.keyboard.type('health');
  await expect.poll(() => chosen(page)).toContain(t('shell.pageHealth'));
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1 }).filter({ hasText: t('shell.pageHealth') }).waitFor();
  await page.keyboard.press('Control+k');
  await group(page, t('shell.foundRecent')).getByRole('option', { name: t('shell.pageHealth') }).waitFor();
  expect(await chosen(page)).toContain(t('shell.pageHealth'));
});

test('letters in order are enough to find a tool', async () => {
  const page = await here.open('usage');
  await look(page, 'gsvrf');
  await expect.poll(() => chosen(page)).toContain('gsv__ReadFile');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'gsv__ReadFile' }).waitFor();
});

test('settings are found by what they do, and lead to themselves', async () => {
  const page = await here.open('usage');
  await look(page, 'sessions.turn_minutes');
  await group(page, t('shell.foundSettings')).getByRole('option', { name: /sessions\.turn_minutes/ }).click();
  await expect.poll(() => page.url()).toContain('#/settings?find=sessions.turn_minutes');
});

test('the guide is searched too, and a chapter opens beside the page', async () => {
  const page = await here.open('usage');
  await look(page, 'install');
  const chapter = group(page, t('shell.foundHelp')).getByRole('option').first();
  await chapter.waitFor();
  const opened = page.context().waitForEvent('page');
  await chapter.click();
  expect((await opened).url()).toContain('/docs/');
});

test('a conversation is opened by its name, and a new one begun', async () => {
  await here.gateway.post('/api/chat', { sessionKey: 'agent:main:lighthouse', message: 'hello' });
  const page = await here.open('usage');
  await look(page, 'lighth');
  await group(page, t('shell.foundConversations')).getByRole('option', { name: 'lighthouse' }).waitFor();
  await expect.poll(() => chosen(page)).toContain('lighthouse');
  await page.keyboard.press('Enter');
  await agent(page).getByText('northern cliff').waitFor();
  await look(page, t('shell.actNewChat'));
  await expect.poll(() => chosen(page)).toContain(t('shell.actNewChat'));
  await page.keyboard.press('Enter');
  await message(page).waitFor();
  await expect.poll(() => page.url()).toContain('talk-');
});

test('messages are found by their words, and lead to where they were said', async () => {
  await here.gateway.post('/api/chat', { sessionKey: 'agent:main:coast', message: 'where does the wind come from?' });
  const page = await here.open('usage');
  await look(page, 'northern clif');
  await group(page, t('shell.foundMessages')).getByRole('option', { name: /northern cliff/ }).first().click();
  await expect.poll(() => page.url()).toMatch(/#\/chat\/agent%3Amain%3A\w+\?at=\d+/);
  await agent(page).getByText('northern cliff').first().waitFor();
});

test('the arrow keys go round, and the answer that comes late moves no choice', async () => {
  const page = await here.open('usage');
  await look(page, '');
  const options = palette(page).getByRole('option');
  await options.first().waitFor();
  await group(page, t('shell.foundConversations')).waitFor();
  await page.keyboard.press('ArrowUp');
  const last = await options.last().innerText();
  expect(await chosen(page)).toBe(last);
  await page.keyboard.press('ArrowDown');
  expect(await chosen(page)).toBe(await options.first().innerText());
  // The field says to a screen reader which one it is.
  const named = await page.getByRole('combobox', { name: t('shell.palette') }).getAttribute('aria-activedescendant');
  expect(await page.locator(`[id="${named}"]`).getAttribute('aria-selected')).toBe('true');
});

test('what fits nothing says so', async () => {
  const page = await here.open('usage');
  await look(page, 'zzqqxx');
  await palette(page).getByText(t('shell.paletteNothing', { query: 'zzqqxx' })).waitFor();
});

test('what creates something opens the form for it', async () => {
  const page = await here.open('usage');
  for (const [action, form] of [[t('shell.actNewAgent'), t('agents.new')], [t('shell.actNewJob'), t('jobs.new')]] as const) {
    await look(page, action);
    await expect.poll(() => chosen(page)).toContain(action);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: form }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog', { name: form }).waitFor({ state: 'detached' });
  }
});

test('the theme, the language, the shortcuts and logging out are actions', async () => {
  const visitor = await here.visit({ colorScheme: 'light' });
  const page = await visitor.open('usage');
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await connected(page).waitFor();
  const light = await ground();
  await look(page, t('shell.actToggleTheme'));
  await page.keyboard.press('Enter');
  await expect.poll(ground).not.toBe(light);
  await look(page, t('shell.shortcuts'));
  await expect.poll(() => chosen(page)).toContain(t('shell.shortcuts'));
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: t('shell.shortcuts') }).waitFor();
  await page.keyboard.press('Escape');
  await look(page, 'Deutsch');
  await expect.poll(() => chosen(page)).toContain('Deutsch');
  await page.keyboard.press('Enter');
  await page.getByRole('navigation', { name: german('shell.navigation') }).waitFor();
  await page.keyboard.press('Control+k');
  visitor.expected.add(401);
  await page.getByRole('combobox', { name: german('shell.palette') }).fill(german('shell.logOut'));
  await page.keyboard.press('Enter');
  await page.getByRole('textbox', { name: german('login.field') }).waitFor();
});

test('on a phone it fills the screen and closes by a button', async () => {
  const page = await here.open('usage', { viewport: PHONE, hasTouch: true });
  await connected(page).waitFor();
  await page.getByRole('button', { name: t('shell.menu'), exact: true }).tap();
  await page.getByRole('button', { name: t('shell.search') }).tap();
  await palette(page).waitFor();
  expect((await palette(page).boundingBox())?.width).toBe(PHONE.width);
  await palette(page).getByRole('button', { name: t('common.close') }).tap();
  await palette(page).waitFor({ state: 'detached' });
});
