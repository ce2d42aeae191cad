// What keeps people out of a page, and what makes it too wide.

import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe finds: everything in light, and in dark what colours change. */
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

/** By how many pixels a page, or a part of it that scrolls up and down only, can be moved sideways. */
export const tooWide = (page: Page): Promise<number> =>
  page.evaluate(() => {
    const parts = [...document.querySelectorAll('main, main > *, main section:not([tabindex]), dialog, [role=dialog]')].filter((part) => ['auto', 'scroll'].includes(getComputedStyle(part).overflowX));
    return Math.max(...[document.documentElement, ...parts].map((part) => part.scrollWidth - part.clientWidth));
  });
