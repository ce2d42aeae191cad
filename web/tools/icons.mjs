// Renders the icons of the installed app from public/mark.svg, with the Chromium that the browser tests use:
// `node tools/icons.mjs`. The pictures are checked in, because a build needs no browser.
import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const here = new URL('../public/', import.meta.url);
const executablePath = execFileSync(fileURLToPath(new URL('../../tools/chromium', import.meta.url)), { encoding: 'utf8' }).trim();
const mark = await readFile(new URL('mark.svg', here), 'utf8');
// Systems cut maskable icons into shapes of their own: the ground fills them, and the drawing stays in the middle.
const full = mark.replace('rx="8"', '').replace('<g ', '<g transform="translate(4.8 4.8) scale(.7)" ');

/** @type {[string, number, string][]} */
const ICONS = [['icon-192.png', 192, mark], ['icon-512.png', 512, mark], ['icon-maskable-512.png', 512, full], ['apple-touch-icon.png', 180, full]];

const browser = await chromium.launch({ executablePath, chromiumSandbox: false });
for (const [name, size, svg] of ICONS) {
  const page = await browser.newPage({ viewport: { width: size, height: size } });
  await page.setContent(`<body style="margin:0">${svg.replace('<svg ', `<svg width="${size}" height="${size}" style="display:block" `)}`);
  await writeFile(new URL(name, here), await page.screenshot({ omitBackground: true }));
}
await browser.close();
