// What happens while one looks: output as it is printed, a gateway that goes and comes back.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { soon } from './gateway';
import { t } from './texts';
import { house } from './visit';
import { agent, connected, message, said, say } from './words';

const here = house({
  script: `
turns:
  - when: { user: build it }
    calls: [{ id: b1, name: bench__Bash, arguments: { command: "echo the first line; while [ ! -e go ]; do sleep 0.05; done; echo the last line" } }]
  - when: { result_of: bench__Bash }
    text: It is built.
  - when: { user: "" }
    text: Here I am.
`,
});

test('what a tool prints is seen while it runs', async () => {
  const { gateway } = here;
  const { code } = await gateway.post<{ code: string }>('/api/nodes/codes', { nodeId: 'bench' });
  const folder = join(gateway.folder, 'bench');
  await mkdir(folder);
  await gateway.node(code, folder);
  await soon('the machine is there', async () => (await gateway.get<{ nodes: { online: boolean }[] }>('/api/nodes')).nodes.some((node) => node.online));

  const page = await here.open('chat/agent:main:build');
  await say(page, 'build it');
  const card = said(page).getByRole('group').filter({ hasText: 'bench__Bash' });
  await card.waitFor();
  // The machine has no sandbox, so the owner is asked first.
  await page.getByRole('button', { name: 'Allow once' }).first().click();
  await said(page).getByLabel('Output', { exact: true }).getByText('the first line').waitFor();
  expect(await agent(page).getByText('It is built.').count()).toBe(0);
  await writeFile(join(folder, 'go'), '');
  await agent(page).getByText('It is built.').waitFor();
  await card.locator('summary').click();
  await expect.poll(() => card.getByRole('group', { name: 'Output' }).innerText()).toMatch(/the first line\nthe last line/);
});

test('a page whose gateway goes says so, and goes on by itself when it is back', async () => {
  const visitor = await here.visit();
  const page = await visitor.open('chat/agent:main:patient');
  await say(page, 'hello');
  await agent(page).getByText('Here I am.').waitFor();
  await message(page).fill('a thought that is not finished');
  const socket = page.waitForEvent('websocket');
  await visitor.context.setOffline(true);
  await here.gateway.restart();
  await page.getByText(t('shell.lostWorks')).waitFor();
  await visitor.context.setOffline(false);
  await socket;
  await connected(page).waitFor();
  await page.getByText(t('shell.lostWorks')).waitFor({ state: 'detached' });
  expect(await message(page).inputValue(), 'nothing typed is lost').toBe('a thought that is not finished');
  await message(page).press('Enter');
  await expect.poll(() => agent(page).getByText('Here I am.').count()).toBe(2);
  // While nobody answered, the browser said so by itself.
  visitor.trouble.splice(0, visitor.trouble.length, ...visitor.trouble.filter((one) => !/WebSocket connection|ERR_/.test(one)));
});
