// Every page of a house that is lived in: open to everybody (axe finds nothing serious), in dark and light, and on a phone.

import type { BrowserContextOptions } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { barriers, tooWide } from './barriers';
import { Demo, PAGES } from './demo';
import { t } from './texts';
import { DESKTOP, PHONE, house } from './visit';
import { connected } from './words';

const demo = new Demo();
const wanted = {};
beforeAll(async () => {
  Object.assign(wanted, await demo.settings());
});
const here = house(wanted);
beforeAll(() => demo.furnish(here.gateway));
afterAll(() => demo.stop());

const SIZES: [string, BrowserContextOptions][] = [
  ['on a desktop', { viewport: DESKTOP, colorScheme: 'light' }],
  ['on a phone', { viewport: PHONE, colorScheme: 'light', hasTouch: true }],
];

test('what keeps people out would be noticed, in dark and light', async () => {
  const page = await here.open('usage');
  await connected(page).waitFor();
  await page.evaluate(() => {
    document.querySelector('main')?.append(document.createElement('button'));
    const faint = document.createElement('p');
    faint.textContent = 'hardly to be read';
    Object.assign(faint.style, { color: '#777', background: '#888' });
    document.querySelector('main')?.append(faint);
  });
  const found = await barriers(page);
  expect(found).toContainEqual(expect.stringMatching(/^light: critical button-name/));
  for (const scheme of ['light', 'dark']) expect(found).toContainEqual(expect.stringMatching(new RegExp(`^${scheme}: serious color-contrast`)));
});

test('what is too wide would be noticed, though only the middle of the page can be moved', async () => {
  const page = await here.open('usage', { viewport: PHONE });
  await connected(page).waitFor();
  await expect.poll(() => tooWide(page)).toBe(0);
  await page.evaluate(() => {
    const wide = document.createElement('p');
    wide.style.width = '500px';
    document.querySelector('main')?.append(wide);
  });
  expect(await tooWide(page)).toBeGreaterThan(0);
});

describe.each(SIZES)('%s', (_name, options) => {
  test('no page keeps anybody out, and none is wider than the screen', { timeout: 300_000 }, async () => {
    const visitor = await here.visit(options);
    const wrong: string[] = [];
    for (const place of PAGES) {
      const page = await visitor.open(place);
      await visitor.settled(page);
      for (const one of await barriers(page)) wrong.push(`${place}: ${one}`);
      const wide = await tooWide(page);
      if (wide > 0) wrong.push(`${place} is ${wide} pixels too wide`);
      await page.close();
    }
    expect(wrong).toEqual([]);
  });

  test('dialogs, the palette and a card that is open keep nobody out either', async () => {
    const visitor = await here.visit(options);
    const page = await visitor.open('cron');
    const wrong: string[] = [];
    const look = async (what: string) => {
      for (const one of await barriers(page)) wrong.push(`${what}: ${one}`);
      if ((await tooWide(page)) > 0) wrong.push(`${what} is too wide`);
    };
    await visitor.settled(page);
    await page.getByRole('button', { name: 'New job' }).click();
    await page.getByRole('dialog').waitFor();
    await look('the form of a job');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').waitFor();
    await look('the palette');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.goto(`${here.gateway.url}/#/chat/agent:main:disk`);
    await page.getByRole('group').filter({ hasText: 'studio__Bash' }).locator('summary').click();
    await look('an open card');
    await page.getByRole('button', { name: 'Conversation actions' }).click();
    await page.getByRole('menu', { name: 'Conversation actions' }).waitFor();
    await look('the menu of a conversation');
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByRole('dialog', { name: /^Delete / }).waitFor();
    await look('what is asked before a conversation is deleted');
    await page.keyboard.press('Escape');
    await page.goto(`${here.gateway.url}/#/activity`);
    await page.getByRole('listbox', { name: 'Entries' }).getByRole('option').first().click();
    await page.getByRole('region', { name: /^Details of/ }).waitFor();
    await look('an entry');
    expect(wrong).toEqual([]);
  });
});

test('on a phone the menu opens, leads somewhere, and closes', async () => {
  const visitor = await here.visit({ viewport: PHONE, hasTouch: true });
  const page = await visitor.open('usage');
  await visitor.settled(page);
  const menu = page.getByRole('navigation', { name: t('shell.navigation') });
  expect(await menu.isVisible()).toBe(false);
  await page.getByRole('button', { name: t('shell.menu'), exact: true }).tap();
  await menu.waitFor();
  expect(await tooWide(page)).toBe(0);
  await menu.getByRole('link', { name: t('shell.pageJobs') }).tap();
  await page.getByRole('heading', { level: 1, name: t('shell.pageJobs') }).waitFor();
  await menu.waitFor({ state: 'hidden' });
});

test('who is not logged in is not kept out by the way in', async () => {
  const wrong: string[] = [];
  for (const [, options] of SIZES) {
    const stranger = await here.stranger(options);
    stranger.expected.add(401);
    const page = await stranger.open();
    await page.getByRole('button', { name: t('login.logIn') }).waitFor();
    wrong.push(...(await barriers(page)));
  }
  expect(wrong).toEqual([]);
});

test('dark and light follow the system until somebody chooses, and the choice is kept', async () => {
  const page = await here.open('usage', { colorScheme: 'dark' });
  await connected(page).waitFor();
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await ground();
  await page.emulateMedia({ colorScheme: 'light' });
  await expect.poll(ground).not.toBe(dark);
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: t('shell.palette') }).waitFor();
  await page.keyboard.type(t('shell.actTheme', { name: t('shell.themeDark') }));
  await page.keyboard.press('Enter');
  await expect.poll(ground).toBe(dark);
  await page.reload();
  await expect.poll(ground).toBe(dark);
});
