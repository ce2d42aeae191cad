// What is around every page: the menu, the user menu, one header on phones, dialogs and messages.

import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { german, t } from './texts';
import { PHONE, house } from './visit';
import { connected } from './words';

const here = house({ script: 'turns:\n  - when: { user: "" }\n    text: I am here.\n' });
const account = (page: Page) => page.getByRole('button', { name: t('shell.account') });
const menu = (page: Page) => page.getByRole('dialog', { name: t('shell.account') });

test('the menu lists every page under the heading where one looks for it, and the arrow keys walk through it', async () => {
  const page = await here.open('usage');
  await connected(page).waitFor();
  const nav = page.getByRole('navigation', { name: t('shell.navigation') });
  expect(await nav.getByRole('heading').allInnerTexts()).toEqual([t('shell.groupConnections'), t('shell.groupAutomation'), t('shell.groupFiles'), t('shell.groupAdmin')]);
  expect(await nav.getByRole('link', { name: t('shell.pageUsage') }).getAttribute('aria-current')).toBe('page');
  await nav.getByRole('link', { name: t('shell.pageUsage') }).focus();
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await expect.poll(() => page.url()).toContain('#/activity');
  await page.keyboard.press('Home');
  await page.keyboard.press('Enter');
  await expect.poll(() => page.url()).toContain('#/chat');
});

test('the user menu says who is logged in, and changes the theme and the language', async () => {
  const page = await here.open('usage', { colorScheme: 'light' });
  await connected(page).waitFor();
  await account(page).click();
  await menu(page).getByText(t('shell.signedInAs', { role: t('shell.roleOwner') })).waitFor();
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  await menu(page).getByRole('radio', { name: t('shell.themeDark') }).check({ force: true });
  await expect.poll(ground).not.toBe(light);
  await page.keyboard.press('Escape');
  await menu(page).waitFor({ state: 'hidden' });
  // The key that closes it gives the focus back.
  await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toContain(t('shell.account'));

  await account(page).click();
  await menu(page).getByRole('combobox', { name: t('shell.language') }).selectOption('de');
  await page.getByRole('navigation', { name: german('shell.navigation') }).waitFor();
  expect(await page.evaluate(() => document.documentElement.lang)).toBe('de');
  await page.getByRole('link', { name: german('shell.pageSettings') }).waitFor();
  await page.reload();
  await page.getByRole('button', { name: german('shell.account') }).click();
  const language = page.getByRole('combobox', { name: german('shell.language') });
  expect(await language.inputValue()).toBe('de');
  await language.selectOption('');
  await page.getByRole('navigation', { name: t('shell.navigation') }).waitFor();
});

test('the browser decides on the language until somebody chooses one', async () => {
  const page = await here.open('usage', { locale: 'ja-JP' });
  await page.getByRole('link', { name: '設定' }).waitFor();
  expect(await page.evaluate(() => document.documentElement.lang)).toBe('ja');
});

test('a phone shows one header, with the heading of the page in it', async () => {
  const visitor = await here.visit({ viewport: PHONE, hasTouch: true });
  const page = await visitor.open('usage');
  await visitor.settled(page);
  const headings = page.getByRole('heading', { level: 1 });
  expect(await headings.count()).toBe(1);
  const inBar = () => headings.evaluate((heading) => Boolean(heading.closest('header')?.querySelector('[popovertarget]')));
  expect(await inBar()).toBe(true);
  // Turned to the side, or on a larger screen, it stands on the page again; another page leaves nothing behind.
  await page.setViewportSize({ width: 1100, height: 800 });
  await expect.poll(inBar).toBe(false);
  await page.setViewportSize(PHONE);
  await expect.poll(inBar).toBe(true);
  for (const place of ['health', 'activity', 'settings']) {
    await page.goto(`${here.gateway.url}/#/${place}`);
    await visitor.settled(page);
    expect(await headings.count()).toBe(1);
  }
});

test('on a phone a key closes the menu and gives the focus back', async () => {
  const page = await here.open('usage', { viewport: PHONE });
  await connected(page).waitFor();
  await page.getByRole('button', { name: t('shell.menu'), exact: true }).click();
  await page.getByRole('navigation', { name: t('shell.navigation') }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('navigation', { name: t('shell.navigation') }).waitFor({ state: 'hidden' });
  await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe(t('shell.menu'));
});

test('a message that comes while a dialog is open is read and dismissed there', async () => {
  await here.gateway.call('gsv__Cron', { action: 'add', job: { name: 'tea', schedule: { kind: 'every', everyMs: 86_400_000 }, spec: { mode: 'task', message: 'hello' } } });
  const visitor = await here.visit();
  const page = await visitor.open('cron');
  await connected(page).waitFor();
  const dialog = page.getByRole('dialog', { name: t('shell.shortcuts') });
  await page.keyboard.press('?');
  await dialog.waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await visitor.context.setOffline(true);
  await page.getByText(t('shell.offlineTitle')).waitFor();
  await page.getByText(t('shell.lostWorks')).waitFor();
  await page.getByRole('button', { name: 'Run now' }).click();
  await page.getByText(t('common.notConnected')).waitFor();
  await page.keyboard.press('?');
  await dialog.waitFor();
  const dismiss = page.getByRole('button', { name: t('common.dismiss') });
  await dismiss.waitFor();
  expect(await dismiss.evaluate((button) => {
    const { left, top, width, height } = button.getBoundingClientRect();
    return button.contains(document.elementFromPoint(left + width / 2, top + height / 2));
  }), 'nothing covers it').toBe(true);
  await dismiss.click();
  await dismiss.waitFor({ state: 'detached' });
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await visitor.context.setOffline(false);
  await connected(page).waitFor();
  visitor.trouble.splice(0, visitor.trouble.length, ...visitor.trouble.filter((one) => !/WebSocket connection|ERR_/.test(one)));
});

test('every control is large enough to be hit', async () => {
  const visitor = await here.visit({ viewport: PHONE, hasTouch: true });
  const page = await visitor.open('usage');
  await visitor.settled(page);
  await page.getByRole('button', { name: t('shell.menu'), exact: true }).click();
  await account(page).click();
  const small = await page.evaluate(() =>
    [...document.querySelectorAll('header button, header a, nav a, nav button, [popover] button, [popover] a, [popover] label, [popover] select')]
      .map((one) => ({ name: one.textContent?.trim() || one.getAttribute('aria-label'), box: one.getBoundingClientRect() }))
      .filter(({ box }) => box.width > 0 && (box.width < 24 || box.height < 24))
      .map(({ name }) => name),
  );
  expect(small).toEqual([]);
});
