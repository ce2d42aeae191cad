// Chat platforms: an account is connected, people ask to be known, and are answered once the owner says who they are.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { Telegram } from './others';
import { house } from './visit';
import { connected } from './words';

const telegram = new Telegram();
const wanted = { script: 'turns:\n  - when: { user: "" }\n    text: Hello on your phone.\n', config: '' };
beforeAll(async () => {
  await telegram.start();
  wanted.config = `[egress]\nallow_private = ["127.0.0.0/8"]\n[channels.telegram.accounts.default]\napi_url = "${telegram.url}"\n`;
});
afterAll(() => telegram.stop());
const here = house(wanted);
const pairs = async () => (await here.gateway.get<{ pairs: { senderId: string; state: string; owner: boolean }[] }>('/api/pairs')).pairs;

test('an account is connected by its token, which is never shown again', async () => {
  const page = await here.open('channels');
  await page.getByRole('button', { name: 'Connect', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel(/The bot’s token/).fill('7:a-token-of-a-bot-that-is-long-enough');
  await dialog.getByRole('button', { name: 'Connect' }).click();
  await dialog.waitFor({ state: 'detached' });
  const account = page.getByRole('region', { name: 'telegram default' });
  await account.getByText('@manyhands_demo_bot').waitFor();
  const { channels } = await here.gateway.get<{ channels: { channel: string; handle: string }[] }>('/api/channels');
  expect(channels).toMatchObject([{ channel: 'telegram', handle: 'manyhands_demo_bot' }]);
  expect(await page.content()).not.toContain('a-token-of-a-bot');
});

test('who writes is shown, and answered only once the owner has said who it is', async () => {
  const page = await here.open('channels');
  await connected(page).waitFor();
  telegram.write({ id: 42, first_name: 'Ada', username: 'ada' }, 'hello?');
  const asking = page.getByRole('region', { name: 'Pairing' });
  await asking.getByText('Ada').waitFor();
  expect(await pairs()).toMatchObject([{ senderId: '42', state: 'asking' }]);
  expect(telegram.sent.filter((one) => one.text.includes('Hello on your phone'))).toEqual([]);
  await asking.getByRole('button', { name: 'It is me' }).click();
  await asking.getByRole('row').filter({ hasText: 'Ada' }).getByText('owner').waitFor();
  expect(await pairs()).toMatchObject([{ senderId: '42', owner: true }]);
  telegram.write({ id: 42, first_name: 'Ada', username: 'ada' }, 'and now?');
  await expect.poll(() => telegram.sent.map((one) => one.text).join('\n')).toContain('Hello on your phone.');
});

test('who is rejected is not answered', async () => {
  const page = await here.open('channels');
  await connected(page).waitFor();
  telegram.write({ id: 66, first_name: 'Mallory' }, 'let me in');
  const asking = page.getByRole('region', { name: 'Pairing' });
  await asking.getByRole('listitem').filter({ hasText: 'Mallory' }).getByRole('button', { name: 'Reject' }).click();
  await expect.poll(async () => (await pairs()).find((one) => one.senderId === '66')?.state).not.toBe('asking');
  await asking.getByRole('listitem').filter({ hasText: 'Mallory' }).waitFor({ state: 'detached' });
  expect(telegram.sent.filter((one) => one.to === 66 && one.text.includes('Hello on your phone'))).toEqual([]);
});

test('another service is carried by a bridge, whose token is shown once', async () => {
  const page = await here.open('channels');
  await page.getByRole('button', { name: 'Connect', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Platform').selectOption({ label: 'Another, by a bridge' });
  await dialog.getByLabel('What the service is called').fill('signal');
  await dialog.getByRole('button', { name: 'Connect' }).click();
  await dialog.getByText(/^mh_/).waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('region', { name: 'signal default' }).getByText('its bridge is not connected').waitFor();
  expect(await page.content()).not.toContain('mh_');
  const { tokens } = await here.gateway.get<{ tokens: { name: string; role: string }[] }>('/api/tokens');
  expect(tokens).toContainEqual(expect.objectContaining({ name: 'signal', role: 'channel' }));
});

test('people who write are contacts, and can be written to', async () => {
  const page = await here.open('people');
  const contacts = page.getByRole('region', { name: 'Contacts' });
  await contacts.getByRole('textbox', { name: /Message to .*Ada/i }).fill('the tea is ready');
  await contacts.getByRole('button', { name: 'Send' }).first().click();
  await expect.poll(() => telegram.sent).toContainEqual({ to: 42, text: expect.stringContaining('the tea is ready') as string });
});
