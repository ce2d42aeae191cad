// Pictures of every page of a house that is lived in, dark and light, on a desktop and on a phone, into `screenshots/`.
// Four of them are copied to `docs/pictures`, where the README shows them.

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Demo, PAGES } from './demo';
import { smaller } from './png';
import { DESKTOP, PHONE, house } from './visit';

const folder = fileURLToPath(new URL('../screenshots/', import.meta.url));
const docs = fileURLToPath(new URL('../../docs/pictures/', import.meta.url));
const README = { 'chat-desktop-light': 'chat', 'tools-gsv__ReadFile-desktop-light': 'tools', 'cron-desktop-dark': 'jobs', 'nodes-studio-desktop-dark': 'nodes' };

const demo = new Demo();
const wanted = {};
beforeAll(async () => {
  Object.assign(wanted, await demo.settings());
});
const here = house(wanted);
beforeAll(() => demo.furnish(here.gateway));
afterAll(() => demo.stop());

/** What is done on a page before it is taken. */
const LIVELY: Record<string, (page: Page) => Promise<void>> = {
  'tools/gsv__ReadFile': async (page) => {
    await page.getByRole('textbox', { name: 'path' }).fill('memory/notes.md');
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByRole('region', { name: 'Result' }).getByText('Notes', { exact: false }).first().waitFor();
    await page.getByRole('link', { name: /Audit entry/ }).waitFor();
  },
  nodes: async (page) => {
    await page.getByRole('region', { name: 'Transfers' }).waitFor();
  },
  'nodes/studio': async (page) => {
    await page.getByRole('button', { name: /listening on 8080/ }).click();
    await page.getByText('favicon.ico').waitFor();
  },
  'cron/new': async (page) => {
    await page.getByRole('button', { name: 'New job' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Stand-up');
    await page.getByRole('textbox', { name: 'Prompt' }).fill('What is due today? Look at my notes.');
    await page.getByRole('dialog').getByRole('listitem').nth(4).waitFor();
  },
  artifacts: async (page) => {
    await page.getByRole('option', { name: 'harbour.png' }).click();
    await page.getByRole('img', { name: 'harbour.png' }).waitFor();
  },
};
const ALL = [...PAGES, ...Object.keys(LIVELY).filter((place) => !PAGES.includes(place))];

describe.each([['desktop', DESKTOP], ['phone', PHONE]] as const)('%s', (size, viewport) => {
  test.each(['light', 'dark'] as const)('every page, %s', { timeout: 300_000 }, async (colorScheme) => {
    await mkdir(folder, { recursive: true });
    const visitor = await here.visit({ viewport, colorScheme, deviceScaleFactor: size === 'phone' ? 2 : 1, timezoneId: 'Europe/Berlin' });
    for (const place of ALL) {
      const page = await visitor.open(place.replace(/\/new$/, ''));
      await visitor.settled(page);
      await LIVELY[place]?.(page);
      await visitor.settled(page);
      await page.screenshot({ path: `${folder}${place.replaceAll(/[/:.]/g, '-')}-${size}-${colorScheme}.png` });
      await page.close();
    }
  });
});

test('the four of the README', async () => {
  await mkdir(docs, { recursive: true });
  for (const [picture, name] of Object.entries(README)) {
    const png = smaller(await readFile(`${folder}${picture}.png`));
    expect(png.length).toBeLessThan(150_000);
    await writeFile(`${docs}${name}.png`, png);
  }
});
