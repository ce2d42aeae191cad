// Without a mouse: everything can be reached, seen to be reached, and used.

import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { t } from './texts';
import { house } from './visit';
import { agent, connected, message } from './words';

const here = house({ script: 'turns:\n  - when: { user: "" }\n    text: I hear you.\n' });

/** What has the focus: its role or tag, and its name. */
const focused = (page: Page) =>
  page.evaluate(() => {
    const at = document.activeElement;
    const label = at instanceof HTMLElement ? (at.getAttribute('aria-label') ?? (at as HTMLInputElement).labels?.[0]?.innerText ?? at.innerText) : '';
    return `${at?.getAttribute('role') ?? at?.tagName.toLowerCase()} ${label.trim().split('\n')[0]}`;
  });

/** Presses Tab until something has the focus. */
async function tabTo(page: Page, wanted: RegExp): Promise<void> {
  const seen: string[] = [];
  for (let presses = 0; presses < 120; presses += 1) {
    const now = await focused(page);
    if (wanted.test(now)) return;
    seen.push(now);
    await page.keyboard.press('Tab');
  }
  throw new Error(`${wanted} was never reached: ${seen.join(', ')}`);
}

test('the first key leads past the menu, and every place of the menu is reached by two keys', async () => {
  const page = await here.open('usage');
  await connected(page).waitFor();
  await page.getByRole('heading', { level: 1, name: 'Usage' }).waitFor();
  await page.keyboard.press('Tab');
  await expect.poll(() => focused(page)).toBe(`a ${t('shell.skip')}`);
  await page.keyboard.press('Enter');
  await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe('main');
  for (const [key, heading] of [['t', 'Tools'], ['n', 'Nodes'], ['j', 'Jobs'], ['l', 'Activity'], ['e', 'Health']] as const) {
    await page.keyboard.press('g');
    await page.keyboard.press(key);
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
  }
});

test('a conversation is held by keys alone', async () => {
  const page = await here.open('chat');
  await connected(page).waitFor();
  await expect.poll(() => focused(page)).toMatch(/textarea Message/);
  await page.keyboard.type('hello');
  await page.keyboard.press('Shift+Enter');
  await page.keyboard.type('second line');
  await expect.poll(() => message(page).inputValue()).toBe('hello\nsecond line');
  await page.keyboard.press('Enter');
  await agent(page).getByText('I hear you.').waitFor();
  await expect.poll(() => focused(page)).toMatch(/textarea Message/);
  await page.keyboard.press('ArrowUp');
  await expect.poll(() => message(page).inputValue()).toBe('hello\nsecond line');
});

test('the arrow keys walk through the conversations, and Enter leads to writing', async () => {
  for (const key of ['first', 'second']) await here.gateway.post('/api/chat', { sessionKey: `agent:main:${key}`, message: 'hello' });
  const page = await here.open('chat/agent:main:second');
  const list = page.getByRole('listbox', { name: 'Conversations' });
  await list.getByRole('option', { name: 'first' }).waitFor();
  await agent(page).getByText('I hear you.').waitFor();
  await list.focus();
  for (const [key, name] of [['ArrowDown', 'first'], ['ArrowUp', 'second'], ['ArrowDown', 'first']] as const) {
    await page.keyboard.press(key);
    await page.getByRole('heading', { level: 1, name }).waitFor();
    await agent(page).getByText('I hear you.').waitFor();
    expect(await focused(page)).toMatch(/^listbox Conversations/);
  }
  await page.keyboard.press('Enter');
  await expect.poll(() => focused(page)).toMatch(/textarea Message/);
  await list.getByRole('option', { name: 'second' }).click();
  await page.getByRole('heading', { level: 1, name: 'second' }).waitFor();
  await expect.poll(() => focused(page)).toMatch(/textarea Message/);
});

test('the palette opens, finds, goes, closes, and gives the focus back', async () => {
  const page = await here.open('chat');
  await connected(page).waitFor();
  await expect.poll(() => focused(page)).toMatch(/textarea Message/);
  await page.keyboard.press('Control+k');
  const palette = page.getByRole('dialog', { name: t('shell.palette') });
  await palette.waitFor();
  await expect.poll(() => focused(page)).toBe(`combobox ${t('shell.palette')}`);
  await page.keyboard.press('Escape');
  await palette.waitFor({ state: 'detached' });
  await expect.poll(() => focused(page)).toMatch(/textarea Message/);

  await page.keyboard.press('Control+k');
  await expect.poll(() => focused(page)).toBe(`combobox ${t('shell.palette')}`);
  await page.keyboard.type('gsv__ReadFile');
  await palette.getByRole('option', { name: 'gsv__ReadFile' }).first().waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'gsv__ReadFile' }).waitFor();
});

test('a tool is found, filled in and run by keys alone', async () => {
  const page = await here.open('tools');
  await connected(page).waitFor();
  const list = page.getByRole('listbox', { name: 'Tools' });
  await list.getByRole('option').first().waitFor();
  await page.keyboard.press('/');
  await expect.poll(() => focused(page)).toMatch(/Search tools/);
  await page.keyboard.type('gsv__WriteFile');
  await expect.poll(async () => (await list.getByRole('option').first().innerText()).split('\n')[0]).toBe('gsv__WriteFile');
  await tabTo(page, /^listbox Tools/);
  await page.keyboard.press('Home');
  await page.getByRole('heading', { name: 'Try it' }).waitFor();
  await tabTo(page, /^(input|textarea) path/);
  await page.keyboard.type('memory/by-keys.md');
  await tabTo(page, /^(input|textarea) content/);
  await page.keyboard.type('no mouse');
  await tabTo(page, /^button Run/);
  await page.keyboard.press('Enter');
  await page.getByRole('region', { name: 'Result' }).getByRole('heading', { name: 'Result' }).waitFor();
  expect((await here.gateway.call<{ content: string }>('gsv__ReadFile', { path: 'memory/by-keys.md' })).content).toBe('no mouse');
});

test('whatever has the focus is seen to have it', async () => {
  const visitor = await here.visit();
  for (const place of ['chat', 'tools/gsv__ReadFile', 'cron', 'settings', 'policy']) {
    const page = await visitor.open(place);
    await connected(page).waitFor();
    await page.waitForLoadState('networkidle');
    const unseen: string[] = [];
    for (let presses = 0; presses < 30; presses += 1) {
      await page.keyboard.press('Tab');
      const shown = await page.evaluate(() => {
        const at = document.activeElement;
        if (!at || at === document.body) return true;
        // A file field is small; its label shows the focus for it.
        for (let one: Element | null = at; one && one !== document.body; one = one.parentElement) {
          const style = getComputedStyle(one);
          const outlined = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1;
          if (outlined || style.boxShadow !== 'none') return true;
          if (one !== at && !['LABEL', 'FORM'].includes(one.tagName)) break;
        }
        return false;
      });
      if (!shown) unseen.push(await focused(page));
    }
    expect([...new Set(unseen)], place).toEqual([]);
    await page.close();
  }
});

test('a dialog keeps the focus inside, closes by a key, and gives it back', async () => {
  const page = await here.open('cron');
  await connected(page).waitFor();
  await tabTo(page, /^button New job/);
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'New job' });
  await dialog.waitFor();
  for (let presses = 0; presses < 40; presses += 1) {
    await page.keyboard.press('Tab');
    // After the last thing a browser goes through its own frame, and then begins again inside.
    const inside = await page.evaluate(() => document.activeElement === document.body || Boolean(document.activeElement?.closest('dialog')));
    expect(inside, await focused(page)).toBe(true);
  }
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await expect.poll(() => focused(page)).toBe('button New job');
});

test('the keyboard shortcuts are listed where they are asked for', async () => {
  const page = await here.open('usage');
  await connected(page).waitFor();
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: t('shell.shortcuts') }).getByText(t('shell.keySearch')).waitFor();
});
