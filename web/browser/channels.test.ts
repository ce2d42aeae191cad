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

test('an account is connected step by step, until its owner has written and is known', async () => {
  const page = await here.open('channels');
  // Its settings are there, and its token is not.
  await page.getByRole('region', { name: 'Telegram', exact: true }).getByText('is not set').waitFor();
  await page.getByRole('button', { name: 'Connect channel' }).click();
  const dialog = page.getByRole('dialog', { name: 'Connect a channel' });
  await dialog.getByRole('button', { name: /^Telegram/ }).click();
  await dialog.getByText('Send /newbot').waitFor();
  await dialog.getByLabel('Bot token').fill('7:a-token-of-a-bot-that-is-long-enough');
  await dialog.getByRole('button', { name: 'Connect and test' }).click();
  await dialog.getByText('Waiting for your message').waitFor();
  await dialog.getByText('@manyhands_demo_bot').waitFor();
  const { channels } = await here.gateway.get<{ channels: { channel: string; handle: string }[] }>('/api/channels');
  expect(channels).toMatchObject([{ channel: 'telegram', handle: 'manyhands_demo_bot' }]);
  expect(await page.content()).not.toContain('a-token-of-a-bot');

  telegram.write({ id: 42, first_name: 'Ada', username: 'ada' }, 'hello?');
  await dialog.getByText('Is that you?').waitFor();
  await dialog.getByText('Ada', { exact: true }).waitFor();
  expect(await pairs()).toMatchObject([{ senderId: '42', state: 'asking' }]);
  expect(telegram.sent.filter((one) => one.text.includes('Hello on your phone'))).toEqual([]);
  await dialog.getByRole('button', { name: 'This is me' }).click();
  await dialog.getByText('You can now chat').waitFor();
  expect(await pairs()).toMatchObject([{ senderId: '42', owner: true }]);
  await dialog.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('region', { name: 'Telegram', exact: true }).getByText('Connected').waitFor();
  await page.getByRole('region', { name: 'Approved people' }).first().getByRole('row').filter({ hasText: 'Ada' }).getByText('Owner').waitFor();
  telegram.write({ id: 42, first_name: 'Ada', username: 'ada' }, 'and now?');
  await expect.poll(() => telegram.sent.map((one) => one.text).join('\n')).toContain('Hello on your phone.');
});

test('each platform says what to create where, and a Slack app is created from a manifest', async () => {
  const page = await here.open('channels/add');
  const dialog = page.getByRole('dialog', { name: 'Connect a channel' });
  for (const [name, field] of [['WhatsApp', 'App secret'], ['Discord', 'Bot token'], ['LINE', 'Channel access token'], ['Slack', 'App-level token']]) {
    await dialog.getByRole('button', { name: new RegExp(`^${name}`) }).click();
    await dialog.getByLabel(field ?? '').waitFor();
    expect(await dialog.getByRole('listitem').count()).toBeGreaterThan(2);
    if (name === 'WhatsApp') await dialog.getByText(`${here.gateway.url}/hooks/whatsapp`).waitFor();
    if (name === 'Slack') break;
    await dialog.getByRole('button', { name: 'Back' }).click();
  }
  await dialog.getByText('Show manifest').click();
  const manifest = JSON.parse(await dialog.getByRole('group', { name: 'json code' }).innerText()) as { settings: { socket_mode_enabled: boolean } };
  expect(manifest.settings.socket_mode_enabled).toBe(true);
  await dialog.getByText('Options').click();
  await dialog.getByLabel('Delivery mode').selectOption('Webhook');
  await dialog.getByLabel('Signing secret').waitFor();
  expect(await dialog.getByLabel('App-level token').count()).toBe(0);
});

test('who may write, and which tools agents use for whom, is set on the page', async () => {
  const page = await here.open('channels');
  await page.getByRole('region', { name: 'Telegram', exact: true }).getByRole('button', { name: 'Access' }).click();
  const dialog = page.getByRole('dialog', { name: 'Access on Telegram' });
  await dialog.getByRole('radio', { name: /Allow list only/ }).check();
  await dialog.getByLabel(/^Allow list \(/).fill('@ada, 77');
  await page.keyboard.press('Enter');
  await dialog.getByRole('button', { name: 'Remove plan_create' }).click();
  await dialog.getByRole('button', { name: 'Remove message_react' }).click();
  await dialog.getByLabel('Different tools for one person').fill('@grace');
  await dialog.getByRole('button', { name: 'Add person' }).click();
  await dialog.getByLabel('@grace', { exact: true }).fill('todo_update');
  await page.keyboard.press('Enter');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.waitFor({ state: 'detached' });
  const { value } = await here.gateway.get<{ value: object }>('/api/config?path=channels.telegram');
  expect(value).toMatchObject({ dm: 'allowlist', allow_from: ['@ada', '77'], tools: ['web_search'], senders: { '@grace': { tools: ['web_search', 'todo_update'] } } });
  // As it was, for those who write next.
  expect((await here.gateway.ask('PUT', '/api/config', { path: 'channels.telegram.dm', value: 'pairing' })).ok).toBe(true);
});

test('who is rejected is not answered', async () => {
  const page = await here.open('channels');
  await connected(page).waitFor();
  telegram.write({ id: 66, first_name: 'Mallory' }, 'let me in');
  const asking = page.getByRole('region', { name: 'Pairing requests' });
  await asking.getByRole('listitem').filter({ hasText: 'Mallory' }).getByRole('button', { name: 'Reject' }).click();
  await expect.poll(async () => (await pairs()).find((one) => one.senderId === '66')?.state).not.toBe('asking');
  await asking.getByRole('listitem').filter({ hasText: 'Mallory' }).waitFor({ state: 'detached' });
  expect(telegram.sent.filter((one) => one.to === 66 && one.text.includes('Hello on your phone'))).toEqual([]);
});

test('another service is carried by a bridge, whose token is shown once', async () => {
  const page = await here.open('channels');
  await page.getByRole('button', { name: 'Connect channel' }).click();
  const dialog = page.getByRole('dialog', { name: 'Connect a channel' });
  await dialog.getByRole('button', { name: /^Another service/ }).click();
  await dialog.getByLabel('Service name').fill('signal');
  await dialog.getByRole('button', { name: 'Create bridge' }).click();
  await dialog.getByText(/^mh_/).waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('region', { name: 'signal', exact: true }).getByText('its bridge is not connected').waitFor();
  await expect.poll(() => page.content()).not.toContain('mh_');
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
