// A real browser on the page of an installed gateway: every file is there, the link logs in, a message is answered.
//
//   node page.mjs LINK CHROMIUM ANSWER
//
// Runs in the network of the gateway, with nothing else to reach.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

const { chromium } = createRequire(new URL('../../web/package.json', import.meta.url))('playwright-core');
const [link, executablePath, answer] = process.argv.slice(2);
const { origin } = new URL(link);

const index = await fetch(`${origin}/`, { headers: { accept: 'text/html' } });
assert.equal(index.status, 200);
const html = await index.text();
const assets = [...html.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map((found) => found[1]);
assert.ok(assets.some((name) => name.endsWith('.js')), html);
for (const name of assets) assert.equal((await fetch(origin + name)).status, 200, name);

const browser = await chromium.launch({ executablePath, args: ['--disable-gpu', '--disable-background-networking'], chromiumSandbox: false });
try {
  const page = await browser.newPage({ locale: 'en-GB' });
  page.setDefaultTimeout(120_000);
  const trouble = [];
  page.on('pageerror', (error) => trouble.push(error.message));
  page.on('response', (response) => response.status() >= 400 && trouble.push(`${response.url()}: ${response.status()}`));
  await page.goto(link);
  await page.getByRole('heading', { level: 1, includeHidden: true }).first().waitFor({ state: 'attached' });
  await page.goto(`${origin}/#/chat/agent:main:from-the-browser`);
  const message = page.getByRole('textbox', { name: 'Message' });
  await message.fill('hello');
  await message.press('Enter');
  await page.getByText(answer).first().waitFor();
  assert.deepEqual(trouble, [], 'nothing went wrong in the page');
} finally {
  await browser.close();
}
console.log(`${assets.length} assets, and the page answers`);
