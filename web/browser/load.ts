// How long until a page can be used, from nothing: for `make bench`, on a build as users have it.

import { expect, test } from 'vitest';
import { house } from './visit';
import { connected } from './words';

const here = house({ script: 'turns:\n  - when: { user: "" }\n    text: Yes.\n' });
const TIMES = 10;
const BUDGET = 1_000;

test(`a page can be used within ${BUDGET} ms, with nothing kept by the browser`, { timeout: 240_000 }, async () => {
  const visitor = await here.visit();
  for (const place of ['chat', 'tools', 'nodes', 'cron', 'activity', 'usage', 'settings']) {
    const took: number[] = [];
    for (let time = 0; time < TIMES; time += 1) {
      const page = await visitor.context.newPage();
      const session = await visitor.context.newCDPSession(page);
      await session.send('Network.enable');
      await session.send('Network.setCacheDisabled', { cacheDisabled: true });
      const began = performance.now();
      await page.goto(`${here.gateway.url}/#/${place}`);
      await connected(page).waitFor();
      await page.getByRole('heading', { level: 1 }).waitFor();
      took.push(performance.now() - began);
      await page.close();
    }
    took.sort((one, other) => one - other);
    const median = took[Math.floor(TIMES / 2)] ?? Infinity;
    console.log(`${place.padEnd(9)} usable after ${Math.round(median)} ms (median of ${TIMES}; ${Math.round(took[0] ?? 0)} to ${Math.round(took.at(-1) ?? 0)}; budget ${BUDGET})`);
    expect(median, place).toBeLessThan(BUDGET);
  }
});
