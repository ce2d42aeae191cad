// What the page may weigh. Only what can be counted is held to a number; how long it took is printed.

import type { CDPSession, Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { house } from './visit';
import { connected, message, said } from './words';

const here = house({ script: 'turns:\n  - when: { user: "" }\n    text: Yes.\n' });
const FIRST_LOAD = 200 * 1024;

/** How many bytes came over the wire, by address. */
function weigh(session: CDPSession): Map<string, number> {
  const weights = new Map<string, number>();
  const urls = new Map<string, string>();
  session.on('Network.responseReceived', ({ requestId, response }) => urls.set(requestId, response.url));
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    const url = urls.get(requestId) ?? requestId;
    weights.set(url, (weights.get(url) ?? 0) + encodedDataLength);
  });
  return weights;
}

test('what a browser loads first is under 200 KB, in few requests', async () => {
  const visitor = await here.visit();
  for (const place of ['chat', 'tools', 'cron', 'usage']) {
    const page = await visitor.context.newPage();
    const session = await visitor.context.newCDPSession(page);
    await session.send('Network.enable');
    await session.send('Network.setCacheDisabled', { cacheDisabled: true });
    const weights = weigh(session);
    const began = performance.now();
    await page.goto(`${here.gateway.url}/#/${place}`);
    await connected(page).waitFor();
    await page.getByRole('heading', { level: 1 }).waitFor();
    const took = performance.now() - began;
    await page.waitForLoadState('networkidle');
    const files = [...weights].filter(([url]) => !url.includes('/api/'));
    const answers = [...weights].filter(([url]) => url.includes('/api/'));
    const bytes = files.reduce((sum, [, size]) => sum + size, 0);
    console.log(`${place}: ${(bytes / 1024).toFixed(1)} KiB in ${files.length} files and ${answers.length} answers, usable after ${Math.round(took)} ms`);
    expect(bytes).toBeGreaterThan(10_000);
    expect(bytes).toBeLessThan(FIRST_LOAD);
    expect(files.length).toBeLessThan(40);
    expect(answers.length).toBeLessThan(30);
    await page.close();
  }
});

test('files of the page are packed, kept by the browser, and asked for once', async () => {
  const visitor = await here.visit();
  const page = await visitor.open('usage');
  await page.getByRole('heading', { level: 1 }).waitFor();
  const script = await page.evaluate(() => document.querySelector('script')?.src ?? '');
  const response = await visitor.context.request.get(script, { headers: { 'accept-encoding': 'gzip' } });
  expect(response.headers()['content-encoding']).toBe('gzip');
  expect(response.headers()['cache-control']).toContain('immutable');
  expect(Number(response.headers()['content-length'])).toBeLessThan((await response.body()).length);
  const cached: boolean[] = [];
  const session = await visitor.context.newCDPSession(page);
  await session.send('Network.enable');
  session.on('Network.responseReceived', ({ response: one }) => one.url === script && cached.push(Boolean(one.fromDiskCache)));
  session.on('Network.requestServedFromCache', () => cached.push(true));
  await page.reload();
  await page.getByRole('heading', { level: 1 }).waitFor();
  await expect.poll(() => cached).toContain(true);
});

const ROWS = 10_000;

/** Makes so many real calls, each of which is an entry of the audit. */
async function callOften(count: number): Promise<void> {
  let made = 0;
  const one = async () => {
    while (made < count) {
      made += 1;
      await here.gateway.ask('POST', '/api/tools/gsv__ReadFile', { path: `memory/${made}.md` });
    }
  };
  await Promise.all(Array.from({ length: 16 }, one));
}

/** Scrolls a list to its end, which may grow on the way, until it has so many rows; gives the most that were elements. */
async function toTheEnd(page: Page, list: string, rows: number): Promise<{ most: number; steps: number; took: number }> {
  return page.getByRole('listbox', { name: list }).evaluate(async (box, wanted) => {
    let most = 0;
    let steps = 0;
    const began = performance.now();
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    const count = () => Number(box.querySelector('[role="option"]')?.getAttribute('aria-setsize') ?? 0);
    const atEnd = () => box.scrollTop + box.clientHeight >= box.scrollHeight - 1;
    while ((!atEnd() || count() < wanted) && steps < 20_000) {
      box.scrollTop += Math.max(box.clientHeight, box.scrollHeight / 100);
      await frame();
      most = Math.max(most, box.querySelectorAll('[role="option"]').length);
      steps += 1;
    }
    return { most, steps, took: performance.now() - began };
  }, rows);
}

test(`${ROWS} entries of the audit stay a handful of elements, from the newest to the oldest`, { timeout: 240_000 }, async () => {
  await callOften(ROWS);
  const page = await here.open('activity');
  const list = page.getByRole('listbox', { name: 'Entries' });
  await list.getByRole('option').first().waitFor();
  await page.getByRole('checkbox', { name: 'Live' }).uncheck();
  const { most, steps, took } = await toTheEnd(page, 'Entries', ROWS);
  console.log(`${ROWS} rows: at most ${most} elements, ${steps} steps in ${Math.round(took)} ms`);
  expect(most).toBeGreaterThan(5);
  expect(most).toBeLessThan(80);
  await expect.poll(async () => Number(await list.getByRole('option').last().getAttribute('aria-posinset'))).toBeGreaterThanOrEqual(ROWS);
  // By the keyboard too, and somebody who cannot see is told where one is.
  await list.focus();
  await list.press('Home');
  await expect.poll(() => list.getByRole('option', { selected: true }).getAttribute('aria-posinset')).toBe('1');
  await list.press('End');
  await expect.poll(async () => Number(await list.getByRole('option', { selected: true }).getAttribute('aria-posinset'))).toBeGreaterThanOrEqual(ROWS);
  expect(await list.getByRole('option').count()).toBeLessThan(80);
});

test('a long conversation is read page by page, and stays quick to write in', async () => {
  const key = 'agent:main:long';
  for (let at = 0; at < 40; at += 1) await here.gateway.post('/api/chat', { message: `question ${at}`, sessionKey: key });
  const page = await here.open(`chat/${key}`);
  await page.getByText('question 39').waitFor();
  expect(await page.getByText('question 0', { exact: true }).count()).toBe(0);
  // What was said earlier comes as one scrolls up.
  await expect.poll(async () => {
    await said(page).evaluate((box) => (box.scrollTop = 0));
    return page.getByText('question 0', { exact: true }).count();
  }).toBe(1);
  await message(page).fill('one more');
  await message(page).press('Enter');
  await page.getByRole('article', { name: 'You' }).getByText('one more').waitFor();
});

beforeAll(async () => {
  // The first answer of a process that has just started is slower than all others.
  await here.gateway.get('/api/tools');
});
