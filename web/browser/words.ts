// Finding things on the page as people do: by what they are and what they are called.

import type { Locator, Page } from 'playwright-core';
import { t } from './texts';

export const connected = (page: Page): Locator => page.getByRole('status').filter({ hasText: new RegExp(`^${t('shell.stateOpen')}$`) });
export const message = (page: Page): Locator => page.getByRole('textbox', { name: 'Message', exact: true });
export const said = (page: Page): Locator => page.getByRole('log', { name: 'Messages' });
export const agent = (page: Page): Locator => page.getByRole('article', { name: 'Agent' });
export const you = (page: Page): Locator => page.getByRole('article', { name: 'You' });

/** Says something in the conversation that is open. */
export async function say(page: Page, words: string): Promise<void> {
  await connected(page).waitFor();
  await message(page).fill(words);
  await page.getByRole('button', { name: 'Send', exact: true }).click();
}

/** Opens a folded thing that says these words. */
export async function unfold(within: Locator | Page, words: string | RegExp): Promise<Locator> {
  const folded = within.getByRole('group').filter({ hasText: words }).last();
  await folded.locator('summary').click();
  return folded;
}

/** A file, dropped on something. */
export async function drop(on: Locator, file: { name: string; type: string; bytes: Buffer }): Promise<void> {
  const data = await on.page().evaluateHandle(({ name, type, base64 }) => {
    const transfer = new DataTransfer();
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    transfer.items.add(new File([bytes], name, { type }));
    return transfer;
  }, { name: file.name, type: file.type, base64: file.bytes.toString('base64') });
  await on.dispatchEvent('drop', { dataTransfer: data });
}

/** Opens a login link and presses the button that uses it up. */
export async function enter(page: Page, link: string): Promise<void> {
  await page.goto(link);
  await page.getByRole('button', { name: t('login.logIn'), exact: true }).click();
}

/** Opens the user menu. */
export async function account(page: Page): Promise<Locator> {
  await page.getByRole('button', { name: t('shell.account') }).click();
  const menu = page.getByRole('dialog', { name: t('shell.account') });
  await menu.waitFor();
  return menu;
}
