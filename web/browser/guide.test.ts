// The guide at /docs: without login, without anything from elsewhere, and found by searching.

import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { DESKTOP, PHONE, house } from './visit';
import { account, connected } from './words';

const here = house();
const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** A page of the guide in a browser that is not logged in. */
async function open(path: string, options = {}): Promise<Page> {
  const page = await (await here.stranger(options)).context.newPage();
  await page.goto(`${here.gateway.url}/docs${path}`);
  return page;
}

/** What axe finds, in light and dark. */
async function barriers(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const wrong: string[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    const found = await page.evaluate(() => (window as unknown as { axe: { run(options: object): Promise<AxeResults> } }).axe.run({ resultTypes: ['violations'] }));
    for (const one of found.violations) wrong.push(...one.nodes.map((node) => `${colorScheme}: ${one.id}: ${node.html.slice(0, 160)}`));
  }
  return wrong;
}

test('it can be read without login, and its links lead to chapters', async () => {
  const page = await open('');
  await page.getByRole('heading', { level: 1, name: 'Introduction' }).waitFor();
  expect(new URL(page.url()).pathname).toBe('/docs/');
  await page.getByRole('navigation', { name: 'Chapters' }).getByRole('link', { name: 'Nodes' }).click();
  await page.getByRole('heading', { level: 1, name: 'Nodes' }).waitFor();
  await page.getByRole('link', { name: /^Next / }).click();
  await page.getByRole('heading', { level: 1, name: 'Chat channels' }).waitFor();
  const response = await page.request.get(`${here.gateway.url}/docs/`);
  expect(response.headers()['content-security-policy']).toContain("default-src 'none'; script-src 'self'");
});

test('every chapter opens, and every link within the guide leads to a place that exists', { timeout: 300_000 }, async () => {
  const page = await open('/');
  const chapters = await page.getByRole('navigation', { name: 'Chapters' }).getByRole('link').evaluateAll((links) => links.map((link) => (link as HTMLAnchorElement).href));
  expect(chapters.length).toBeGreaterThan(20);
  const ids = new Map<string, Set<string>>();
  const links: [string, string][] = [];
  for (const url of chapters) {
    await page.goto(url);
    const found = await page.evaluate(() => ({
      ids: [...document.querySelectorAll('[id]')].map(({ id }) => id),
      links: [...document.querySelectorAll<HTMLAnchorElement>('article a, .toc a')].map(({ href }) => href),
    }));
    ids.set(url, new Set(found.ids));
    links.push(...found.links.map((href): [string, string] => [url, href]));
  }
  const dead = links.filter(([, href]) => href.startsWith(`${here.gateway.url}/docs/`)).filter(([, href]) => {
    const [path = '', anchor] = href.split('#');
    return !ids.has(path) || (anchor && !ids.get(path)?.has(decodeURIComponent(anchor)));
  });
  expect(dead).toEqual([]);
  expect(links.length).toBeGreaterThan(200);
});

test('searching finds a section by its words, and leads there by keys alone', async () => {
  const page = await open('/');
  await page.keyboard.press('/');
  const field = page.getByRole('combobox', { name: 'Search the guide' });
  await expect.poll(() => field.evaluate((one) => one === document.activeElement)).toBe(true);
  await page.keyboard.type('sha-256 resumed');
  const results = page.getByRole('listbox', { name: 'Results' });
  await results.getByRole('option', { name: 'Copy files' }).waitFor();
  await page.keyboard.press('Enter');
  await expect.poll(() => page.url()).toContain('/docs/nodes.html#copy-files');
  await field.fill('xyzzy');
  await page.getByRole('status').filter({ hasText: 'No results' }).waitFor();
  await field.fill('limits.min_free_bytes');
  await results.getByRole('option', { name: 'Settings › limits.min_free_bytes' }).first().waitFor();
});

test('a code block is copied as it is', async () => {
  const page = await open('/getting-started.html', { permissions: ['clipboard-read', 'clipboard-write'] });
  const block = page.locator('.block').filter({ hasText: 'manyhands doctor' });
  await block.hover();
  await block.getByRole('button', { name: 'Copy' }).click();
  await block.getByRole('button', { name: 'Copied' }).waitFor();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toMatch(/^manyhands call gsv__WriteFile[\s\S]+\nmanyhands doctor\nmanyhands {2,}# [^\n]+$/);
});

test('it follows the theme that was chosen on the page of the gateway', async () => {
  const page = await open('/', { colorScheme: 'light' });
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  await page.getByRole('button', { name: /^Theme/ }).click();
  await expect.poll(ground).not.toBe(light);
  await page.reload();
  await expect.poll(ground).not.toBe(light);
  expect(await page.evaluate(() => localStorage.getItem('theme'))).toBe('dark');
});

test('it keeps nobody out, on a desktop and on a phone, and is never wider than the screen', { timeout: 300_000 }, async () => {
  const wrong: string[] = [];
  for (const viewport of [DESKTOP, PHONE]) {
    for (const path of ['/', '/concepts.html', '/tools.html', '/policy.html', '/reference/config.html', '/reference/http.html']) {
      const page = await open(path, { viewport });
      wrong.push(...(await barriers(page)).map((one) => `${path} at ${viewport.width}: ${one}`));
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      if (wide > 0) wrong.push(`${path} is ${wide} pixels too wide at ${viewport.width}`);
      await page.close();
    }
  }
  expect(wrong).toEqual([]);
});

test('on a phone the chapters are behind a button', async () => {
  const page = await open('/', { viewport: PHONE, hasTouch: true });
  const chapters = page.getByRole('navigation', { name: 'Chapters' });
  expect(await chapters.isVisible()).toBe(false);
  await page.getByRole('button', { name: 'Chapters' }).tap();
  await chapters.getByRole('link', { name: 'Jobs' }).tap();
  await page.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor();
});

test('the page of the gateway leads to it', async () => {
  const page = await here.open('usage');
  await connected(page).waitFor();
  const menu = await account(page);
  const [opened] = await Promise.all([page.context().waitForEvent('page'), menu.getByRole('link', { name: 'Documentation' }).click()]);
  await opened.getByRole('heading', { level: 1, name: 'Introduction' }).waitFor();
});
