// Looks at every page in a real browser and keeps pictures: light and dark, desktop and phone.
//   MANYHANDS_URL=http://127.0.0.1:7717 MANYHANDS_TOKEN_FILE=… npm run look [-- page …]
// The page comes from the gateway, where each browser logs in by a link of its own, or with LOOK_DIST=1 from
// `dist`, with the gateway behind it. Broken promises of the page (errors, requests elsewhere, text
// wider than a phone) are printed and make it fail.
import { mkdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { preview } from 'vite';

const out = new URL('../screenshots/', import.meta.url);
const root = fileURLToPath(new URL('..', import.meta.url));
const gateway = process.env.MANYHANDS_URL ?? 'http://127.0.0.1:7717';
const token = (await readFile(process.env.MANYHANDS_TOKEN_FILE ?? '', 'utf8').catch(() => '')).trim();
const PAGES = ['chat', 'tools', 'tools/gsv__ReadFile', 'nodes', 'servers', 'channels', 'cron', 'people', 'workspace', 'artifacts', 'policy', 'activity', 'usage', 'settings', 'health', 'welcome'];
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/** A link that logs a browser in, once. */
async function loginLink() {
  const response = await fetch(`${gateway}/api/session/link`, { method: 'POST', headers: { authorization: `Bearer ${token}` } });
  const answer = await response.json();
  if (!answer.ok) throw new Error(`the gateway gives no link: ${answer.error}`);
  return gateway + answer.result.path;
}

const wanted = process.argv.slice(2);
const pages = wanted.length ? wanted : PAGES;
const served = process.env.LOOK_DIST ? await preview({ root, preview: { port: 0, headers: { 'content-security-policy': POLICY } } }) : null;
const base = served ? `http://localhost:${/** @type {import('node:net').AddressInfo} */ (served.httpServer.address()).port}` : gateway;

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-background-networking', '--disable-gpu'] });
await mkdir(out, { recursive: true });
let wrong = 0;
for (const [size, viewport] of /** @type {const} */ ([['desktop', { width: 1280, height: 860 }], ['phone', { width: 390, height: 844 }]])) {
  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    if (process.env.LOOK && !process.env.LOOK.split(',').includes(`${size}-${colorScheme}`)) continue;
    const context = await browser.newContext({ viewport, colorScheme, reducedMotion: 'reduce' });
    const page = await context.newPage();
    if (!served) await page.goto(await loginLink());
    const complain = (/** @type {string} */ what) => {
      wrong += 1;
      console.error(`${size} ${colorScheme} ${page.url()}: ${what}`);
    };
    page.on('pageerror', (error) => complain(error.message));
    page.on('console', (message) => {
      const text = message.text();
      if (message.type() === 'error' && !/status of 40[04]/.test(text)) complain(text);
    });
    page.on('request', (request) => {
      const to = request.url();
      if (!to.startsWith(base) && !/^(data|blob):/.test(to)) complain(`asked ${to}`);
    });
    for (const one of pages) {
      await page.goto(`${base}/#/${one}`);
      await page.waitForLoadState('networkidle', { timeout: 8_000 }).catch(() => undefined);
      await page.waitForTimeout(350);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      if (wide > 1) complain(`is ${wide} pixels too wide`);
      const name = one.replaceAll(/[/:?=]/g, '-');
      await page.screenshot({ path: fileURLToPath(new URL(`${name}-${size}-${colorScheme}.png`, out)) });
    }
    await context.close();
  }
}
await browser.close();
await served?.close();
process.exitCode = wrong ? 1 : 0;
