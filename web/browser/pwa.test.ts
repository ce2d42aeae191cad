// The page as an installed app: what a browser needs to install it, and what there is of it without a gateway.

import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { t, word } from './texts';
import { house, type Visitor } from './visit';
import { agent, connected, message, say } from './words';

const here = house({ script: 'turns:\n  - when: { user: "" }\n    text: I am here.\n' });
const controlled = (page: Page) => page.evaluate(() => navigator.serviceWorker.ready.then(() => Boolean(navigator.serviceWorker.controller)));
/** A page that the service worker looks after. */
async function installed(visitor: Visitor, place: string): Promise<Page> {
  const page = await visitor.open(place);
  await connected(page).waitFor();
  await expect.poll(() => controlled(page)).toBe(true);
  return page;
}
/** While nobody answers, the browser says so by itself. */
const silent = (visitor: Visitor) => visitor.trouble.splice(0, visitor.trouble.length, ...visitor.trouble.filter((one) => !/WebSocket connection|ERR_|Failed to fetch/.test(one)));

test('the gateway sends a manifest with icons that are what it says they are', async () => {
  const { url } = here.gateway;
  const index = await (await fetch(url)).text();
  expect(index).toContain('<link rel="manifest" href="/manifest.webmanifest"');
  const sent = await fetch(`${url}/manifest.webmanifest`);
  expect(sent.headers.get('content-type')).toMatch(/^application\/(manifest\+)?json/);
  const manifest = (await sent.json()) as { name: string; start_url: string; display: string; icons: { src: string; sizes: string; type: string; purpose: string }[] };
  expect(manifest).toMatchObject({ name: 'Manyhands', start_url: '/', display: 'standalone' });
  expect(manifest.icons.map(({ sizes, purpose }) => `${sizes} ${purpose}`)).toEqual(expect.arrayContaining(['192x192 any', '512x512 any', '512x512 maskable']));
  for (const icon of manifest.icons.filter(({ type }) => type === 'image/png')) {
    const bytes = Buffer.from(await (await fetch(url + icon.src)).arrayBuffer());
    expect(`${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`, icon.src).toBe(icon.sizes);
  }
});

test('Chromium finds nothing that keeps the page from being installed', async () => {
  const visitor = await here.visit({ serviceWorkers: 'allow' });
  const page = await installed(visitor, 'usage');
  const session = await visitor.context.newCDPSession(page);
  const { errors } = await session.send('Page.getAppManifest');
  expect(errors).toEqual([]);
  const { installabilityErrors } = (await session.send('Page.getInstallabilityErrors')) as { installabilityErrors: { errorId: string }[] };
  // Private windows install nothing, and each visitor of these tests has one.
  expect(installabilityErrors.map(({ errorId }) => errorId).filter((id) => id !== 'in-incognito')).toEqual([]);
});

test('without a gateway the page opens, says so and keeps what is typed, and goes on when it is back', async () => {
  const visitor = await here.visit({ serviceWorkers: 'allow' });
  const page = await installed(visitor, 'chat/agent:main:offline');
  await say(page, 'hello');
  await agent(page).getByText('I am here.').waitFor();
  await message(page).fill('not sent yet');
  await here.gateway.pause();
  try {
    await page.reload();
    await page.getByText(t('shell.lostWorks')).waitFor();
    await page.getByRole('navigation', { name: t('shell.navigation') }).getByRole('link', { name: t('shell.pageUsage') }).click();
    // A page that was not open before is there, too; only its contents are not.
    await page.getByRole('heading', { level: 1, includeHidden: true }).first().waitFor({ state: 'attached' });
    await page.getByRole('alert').first().waitFor();
    // Trying again at once changes nothing while nobody answers.
    await page.getByRole('button', { name: t('shell.retryNow') }).click();
    await page.getByText(t('shell.lostWorks')).waitFor();
  } finally {
    await here.gateway.resume();
  }
  await connected(page).waitFor();
  await page.getByText(t('shell.lostWorks')).waitFor({ state: 'detached' });
  // What could not be looked at is there now, and who is logged in too.
  await page.getByRole('heading', { name: word('usage.byModel') }).waitFor();
  await expect.poll(() => page.getByRole('alert').count()).toBe(0);
  expect(await page.getByRole('button', { name: t('shell.account') }).innerText()).not.toContain('…');
  await page.goto(`${here.gateway.url}/#/chat/agent:main:offline`);
  await expect.poll(() => message(page).inputValue()).toBe('not sent yet');
  silent(visitor);
});

test('no answer of the gateway is stored, only the files of the page', async () => {
  const visitor = await here.visit({ serviceWorkers: 'allow' });
  const page = await installed(visitor, 'tools');
  await visitor.settled(page);
  const stored = await page.evaluate(async () => {
    const urls: string[] = [];
    for (const name of await caches.keys()) for (const request of await (await caches.open(name)).keys()) urls.push(new URL(request.url).pathname);
    return urls;
  });
  expect(stored).toContain('/');
  expect(stored.length).toBeGreaterThan(30);
  expect(stored.filter((path) => path !== '/' && !/^\/(assets\/|[\w-]+\.(png|svg|webmanifest)$)/.test(path))).toEqual([]);
});

test('another version takes over: the page that is open is told, and the files of the oldest go', async () => {
  const visitor = await here.visit({ serviceWorkers: 'allow' });
  const page = await installed(visitor, 'usage');
  // A gateway that is started with another page, as after an upgrade.
  const copy = join(here.gateway.folder, 'page');
  await cp(process.env.MANYHANDS_PAGE ?? fileURLToPath(new URL('../dist/', import.meta.url)), copy, { recursive: true });
  await rm(join(copy, 'sw.js.gz'), { force: true });
  const original = await readFile(join(copy, 'sw.js'), 'utf8');
  const version = /VERSION = "([0-9a-f]+)"/.exec(original)?.[1] ?? '';
  expect(version).not.toBe('');
  process.env.MANYHANDS_PAGE = copy;
  const caches = () => page.evaluate(() => window.caches.keys());
  const update = async (next: string) => {
    await writeFile(join(copy, 'sw.js'), original.replace(version, next));
    await here.gateway.restart();
    await page.evaluate(async () => (await navigator.serviceWorker.ready).update());
    await expect.poll(caches).toContain(`page-${next}`);
  };
  await update('1111');
  await page.getByText(t('shell.updated')).waitFor();
  expect(await caches()).toContain(`page-${version}`);
  await update('2222');
  await expect.poll(caches).toEqual(['page-1111', 'page-2222']);
  await page.getByRole('button', { name: t('shell.reload') }).click();
  await connected(page).waitFor();
  await expect.poll(() => page.getByText(t('shell.updated')).count()).toBe(0);
  silent(visitor);
});
