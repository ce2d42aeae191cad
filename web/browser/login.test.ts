// How a browser comes in, what it is held to, and how it is put out.

import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { SESSION, house } from './visit';
import { t } from './texts';
import { account, connected, enter } from './words';

const here = house();
const stored = (page: Page) => page.evaluate((key) => localStorage.getItem(key), SESSION);
const login = (page: Page) => page.getByRole('textbox', { name: t('login.field') });

test('the link that the gateway printed logs one browser in, and no second one', async () => {
  const { gateway } = here;
  const first = await here.stranger();
  const page = await first.context.newPage();
  await page.goto(gateway.link);
  const button = page.getByRole('button', { name: t('login.logIn') });
  await button.waitFor();
  // Previews of links and browsers that load pages ahead open it, too: that uses nothing up.
  const preview = await here.stranger();
  await (await preview.context.newPage()).goto(gateway.link);
  expect([...first.asked, ...preview.asked].filter((url) => url.includes('/api/session'))).toEqual([]);
  expect(page.url()).not.toContain('code=');
  await button.click();
  await connected(page).waitFor();
  expect(page.url().startsWith(`${gateway.url}/`), page.url()).toBe(true);
  expect(page.url()).not.toContain('code=');

  const second = await here.stranger();
  second.expected.add(401);
  const late = await second.context.newPage();
  await enter(late, gateway.link);
  await late.getByText(t('login.invalid')).waitFor();
  await login(late).waitFor();
  expect(late.url()).toBe(`${gateway.url}/`);
  expect(await stored(late)).toBeNull();
  // The code was in no request but the one that used it up, and there in the body.
  expect([...first.asked, ...second.asked].filter((url) => url.includes('code='))).toEqual([]);
});

test('reloading, a second tab and a restart of the gateway keep a browser logged in', async () => {
  const visitor = await here.visit();
  const page = await visitor.open('usage');
  await connected(page).waitFor();
  await page.reload();
  await connected(page).waitFor();
  const other = await visitor.open('health');
  await connected(other).waitFor();
  await here.gateway.restart();
  const after = await visitor.open('tools');
  for (const one of [page, other, after]) await connected(one).waitFor();
  expect(await login(page).count()).toBe(0);
  // Requests that were under way when it stopped are not what this is about.
  visitor.trouble.length = 0;
});

test('a link that is opened in a browser that is logged in replaces its session', async () => {
  const visitor = await here.visit();
  const page = await visitor.open('usage');
  await connected(page).waitFor();
  const before = await stored(page);
  await page.goto(await here.gateway.loginLink());
  await page.getByText(t('login.replaces')).waitFor();
  await page.getByRole('button', { name: t('login.logIn'), exact: true }).click();
  await connected(page).waitFor();
  const now = await stored(page);
  expect(now).not.toBe(before);
  const status = async (token: string | null) => (await fetch(`${here.gateway.url}/api/session`, { headers: { authorization: `Bearer ${token}` } })).status;
  await expect.poll(() => status(before)).toBe(401);
  expect(await status(now)).toBe(200);
});

test('who is logged in may leave a login link unused', async () => {
  const visitor = await here.visit();
  const page = await visitor.context.newPage();
  const link = await here.gateway.loginLink();
  await page.goto(link);
  await page.getByRole('button', { name: t('login.keep') }).click();
  await connected(page).waitFor();
  const other = await (await here.stranger()).context.newPage();
  await enter(other, link);
  await connected(other).waitFor();
});

test('who is not logged in sees how to get in, and nothing else', async () => {
  const stranger = await here.stranger();
  stranger.expected.add(401);
  for (const place of ['', 'settings', 'activity', 'chat/agent:main:main']) {
    const page = await stranger.open(place);
    await login(page).waitFor();
    await page.getByText('manyhands link').waitFor();
    expect(await page.getByRole('navigation').count()).toBe(0);
    expect(await page.getByRole('heading').allTextContents()).toEqual([t('login.title')]);
    await page.close();
  }
  // Nothing was let through behind what is shown, and no socket was opened.
  expect(stranger.asked.filter((url) => url.endsWith('/ws'))).toEqual([]);
});

test('a page that waits for a login goes on when one comes in another page', async () => {
  const stranger = await here.stranger();
  stranger.expected.add(401);
  const waits = await stranger.open('health');
  await login(waits).waitFor();
  const other = await stranger.context.newPage();
  await enter(other, await here.gateway.loginLink());
  await connected(other).waitFor();
  await connected(waits).waitFor();
  await waits.getByRole('heading', { level: 1, name: 'Health' }).waitFor();
});

test('a link that is pasted into the page logs in too', async () => {
  const stranger = await here.stranger();
  stranger.expected.add(401);
  const page = await stranger.open();
  await login(page).fill(`${here.gateway.url}/login#code=0123`);
  await page.getByRole('button', { name: t('login.logIn') }).click();
  await page.getByText(t('login.invalid')).waitFor();
  await login(page).fill(await here.gateway.loginLink());
  await page.getByRole('button', { name: t('login.logIn') }).click();
  await connected(page).waitFor();
});

test('nothing in the address changes whom the page talks to', async () => {
  const visitor = await here.visit();
  const page = await visitor.context.newPage();
  const evil = 'evil.example';
  for (const address of [
    `/?gatewayUrl=wss://${evil}/ws&url=https://${evil}&api=https://${evil}&token=x`,
    `/?ws=ws://${evil}#/settings?gatewayUrl=https://${evil}&url=https://${evil}`,
    `/#/https://${evil}/x`,
    `/#//${evil}/tools`,
    `/#/tools/..%2f..%2f%2f${evil}`,
    `/#/nodes/${encodeURIComponent(`//${evil}`)}/files`,
    `/#/artifacts/${encodeURIComponent(`https://${evil}/a`)}`,
  ]) {
    await page.goto('about:blank');
    await page.goto(here.gateway.url + address);
    await connected(page).waitFor();
    await page.waitForLoadState('networkidle');
  }
  const sockets = visitor.asked.filter((url) => url.endsWith('/ws'));
  expect(sockets.length).toBeGreaterThanOrEqual(7);
  expect(new Set(sockets)).toEqual(new Set([`${here.gateway.url}/ws`]));
  expect(visitor.elsewhere()).toEqual([]);
});

test('the policy of the page refuses scripts, styles and requests that are not its own', async () => {
  const visitor = await here.visit();
  const page = await visitor.open('usage');
  await connected(page).waitFor();
  const ran = await page.evaluate(async () => {
    const inline = document.createElement('script');
    inline.textContent = 'window.ranInline = true';
    document.body.append(inline);
    const handler = document.createElement('img');
    handler.setAttribute('onerror', 'window.ranHandler = true');
    const failed = new Promise((done) => handler.addEventListener('error', done, { once: true }));
    handler.src = '/no-such-picture';
    document.body.append(handler);
    const left = await fetch('https://evil.example/').then(() => 'went', () => 'refused');
    await failed;
    return { inline: 'ranInline' in window, handler: 'ranHandler' in window, left };
  });
  expect(ran).toEqual({ inline: false, handler: false, left: 'refused' });
  // That all three were refused was noticed: the watch over the other tests sees such things.
  await expect.poll(() => visitor.trouble.filter((one) => /Content Security Policy/.test(one)).length).toBeGreaterThanOrEqual(3);
  visitor.trouble.length = 0;
  visitor.asked.splice(0);
});

test('a token that is taken back logs the open page out, its socket too', async () => {
  const { gateway } = here;
  const tokens = async () => (await gateway.get<{ tokens: { id: string; state: string }[] }>('/api/tokens')).tokens;
  const before = new Set((await tokens()).map((one) => one.id));
  const visitor = await here.visit();
  const [token, ...more] = (await tokens()).filter((one) => !before.has(one.id));
  expect(more).toEqual([]);
  const other = await here.open('usage');
  const page = await visitor.context.newPage();
  const socket = page.waitForEvent('websocket');
  await page.goto(`${gateway.url}/#/activity`);
  await connected(page).waitFor();
  await connected(other).waitFor();

  visitor.expected.add(401);
  const closed = (await socket).waitForEvent('close');
  const ran = await gateway.cli('token', 'revoke', token?.id ?? '');
  expect(ran.code, ran.stderr).toBe(0);

  await closed;
  await login(page).waitFor();
  expect(await page.getByRole('navigation').count()).toBe(0);
  expect((await tokens()).find((one) => one.id === token?.id)?.state).toBe('revoked');
  // What was shown is gone, also for who looks again; whoever else is logged in stays so.
  await page.reload();
  await login(page).waitFor();
  await other.reload();
  await connected(other).waitFor();
});

test('logging out revokes the session, so that a copy of it is worth nothing', async () => {
  const visitor = await here.visit();
  const page = await visitor.open('usage');
  await connected(page).waitFor();
  const copy = await visitor.context.storageState();
  const token = await stored(page);
  const other = await visitor.open('health');
  await connected(other).waitFor();
  visitor.expected.add(401);
  await (await account(page)).getByRole('button', { name: t('shell.logOut') }).click();
  await login(page).waitFor();
  await login(other).waitFor();
  expect(await stored(page)).toBeNull();
  const thief = await here.stranger({ storageState: copy });
  thief.expected.add(401);
  const again = await thief.open('usage');
  await login(again).waitFor();
  const asked = await fetch(`${here.gateway.url}/api/session`, { headers: { authorization: `Bearer ${token}` } });
  expect(asked.status).toBe(401);
});
