// What keeps people out of a page: what axe finds, and what is wider than the screen.

import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { DESKTOP, PHONE } from './visit';

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
export const SIZES: [string, BrowserContextOptions][] = [
  ['on a desktop', { viewport: DESKTOP, colorScheme: 'light' }],
  ['on a phone', { viewport: PHONE, colorScheme: 'light', hasTouch: true }],
];

/** What axe finds that keeps people out, in words: everything in light, and in dark what colours change. */
export async function barriers(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const wrong: string[] = [];
  for (const [colorScheme, only] of [['light', {}], ['dark', { runOnly: ['color-contrast', 'link-in-text-block'] }]] as const) {
    await page.emulateMedia({ colorScheme });
    const found = await page.evaluate((options) => (window as unknown as { axe: { run(options: object): Promise<AxeResults> } }).axe.run({ resultTypes: ['violations'], ...options }), only);
    for (const one of found.violations.filter(({ impact }) => impact !== 'minor')) {
      for (const node of one.nodes) wrong.push(`${colorScheme}: ${one.impact} ${one.id}: ${node.html.slice(0, 160)} (${node.failureSummary?.split('\n')[1]?.trim()})`);
    }
  }
  await page.emulateMedia({ colorScheme: 'light' });
  return wrong;
}

/** By how many pixels a page can be moved sideways: as a whole, or a part of it that is to scroll up and down only. */
export const tooWide = (page: Page) =>
  page.evaluate(() => {
    const parts = [...document.querySelectorAll('main, main > *, main section:not([tabindex]), dialog, [role=dialog]')].filter((part) => ['auto', 'scroll'].includes(getComputedStyle(part).overflowX));
    return Math.max(...[document.documentElement, ...parts].map((part) => part.scrollWidth - part.clientWidth));
  });

/** What axe finds, in words, and how much the page is too wide. */
export async function obstacles(page: Page): Promise<string[]> {
  const wrong = await barriers(page);
  const wide = await tooWide(page);
  return wide > 0 ? [...wrong, `${wide} pixels too wide`] : wrong;
}
