// The first fifteen minutes of a new user, in one go: from the login link to an agent of one's own, by what is on the
// screen alone. Only the model is small.

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { german, t, word } from './texts';
import { PHONE, house } from './visit';
import { account, agent, connected, say } from './words';

type Message = { role: string; content?: unknown };

/** A model that writes a plan into a file when it is asked for one, and greets otherwise. */
const model = createServer((request, response) => {
  let body = '';
  request.on('data', (piece: Buffer) => (body += piece.toString()));
  request.on('end', () => {
    const json = (value: unknown) => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    if (request.method === 'GET') return void json({ object: 'list', data: [{ id: 'small', object: 'model' }] });
    const { messages = [] } = JSON.parse(body) as { messages?: Message[] };
    const last = messages.at(-1);
    const write = { index: 0, id: `w${messages.length}`, type: 'function', function: { name: 'gsv__WriteFile', arguments: JSON.stringify({ path: 'memory/plan.md', content: 'Three steps to the sea.' }) } };
    const asked = last?.role === 'user' && JSON.stringify(last.content).includes('write a plan');
    const delta = asked ? { tool_calls: [write] } : { content: last?.role === 'tool' ? 'The plan is written.' : 'I am here.' };
    const piece = { id: '1', object: 'chat.completion.chunk', model: 'small', choices: [{ index: 0, delta, finish_reason: asked ? 'tool_calls' : 'stop' }], usage: { prompt_tokens: 5, completion_tokens: 2 } };
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${JSON.stringify(piece)}\n\ndata: [DONE]\n\n`);
  });
});
const wanted = { config: '' };
beforeAll(async () => {
  model.listen(0, '127.0.0.1');
  await once(model, 'listening');
  const url = `http://127.0.0.1:${(model.address() as AddressInfo).port}/v1`;
  wanted.config = `[models.makers.house]\nkind = "openai"\ntitle = "The house"\nbase_url = ${JSON.stringify(url)}\nmodel = "small"\n[[policy.rules]]\ndecision = "ask"\ntools = ["gsv__WriteFile"]\nwhen.path.contains = "plan"\n`;
});
const here = house(wanted);
afterAll(() => {
  model.closeAllConnections();
  model.close();
});

test('the first fifteen minutes of a new user', { timeout: 300_000 }, async () => {
  const { gateway } = here;
  const visitor = await here.stranger({ colorScheme: 'light' });
  const page = await visitor.context.newPage();
  const nav = page.getByRole('navigation', { name: t('shell.navigation') });

  // The link that the gateway printed.
  await page.goto(gateway.link);
  await page.getByRole('button', { name: t('login.logIn') }).click();

  // A model.
  await page.getByRole('heading', { level: 1, name: word('welcome.title') }).waitFor();
  const step = page.getByRole('region', { name: word('welcome.step_model') });
  await step.getByRole('radio', { name: 'The house' }).check();
  await step.getByLabel(word('welcome.key')).fill('sk-minutes-0123456789');
  await step.getByRole('button', { name: word('welcome.saveAndTest') }).click();
  await step.getByText(/house\/small/).filter({ hasText: /\d/ }).first().waitFor();
  await step.getByRole('button', { name: t('common.continue') }).click();

  // The first chat.
  await page.getByRole('region', { name: word('welcome.step_chat') }).getByRole('link', { name: word('welcome.openChat') }).click();
  await say(page, 'hello');
  await agent(page).getByText('I am here.').waitFor();

  // Something that needs approval.
  await say(page, 'please write a plan');
  const request = page.getByRole('article', { name: word('approvals.cardLabel', { tool: 'gsv__WriteFile' }) });
  await request.getByRole('button', { name: word('approvals.once'), exact: true }).click();
  await agent(page).getByText('The plan is written.').waitFor();

  // The file that came of it.
  await nav.getByRole('link', { name: t('shell.pageWorkspace') }).click();
  await page.getByRole('region', { name: word('workspace.files') }).getByText('memory').click();
  await page.getByRole('region', { name: word('workspace.files') }).getByText('plan.md').click();
  await expect.poll(() => page.getByRole('textbox', { name: word('workspace.text') }).inputValue()).toBe('Three steps to the sea.');

  // A tool by its form, found by a few letters.
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: t('shell.palette') }).fill('gsvreadf');
  await page.getByRole('option', { name: /gsv__ReadFile/, selected: true }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('textbox', { name: 'path' }).fill('memory/plan.md');
  await page.getByRole('button', { name: t('common.run'), exact: true }).click();
  await page.getByRole('region', { name: word('tools.result') }).getByText(/Three steps to the sea/).first().waitFor();

  // A job, and its first run.
  await nav.getByRole('link', { name: t('shell.pageJobs') }).click();
  await page.getByRole('button', { name: word('jobs.new') }).first().click();
  const job = page.getByRole('dialog', { name: word('jobs.new') });
  await job.getByRole('textbox', { name: t('common.name'), exact: true }).fill('Morning');
  await job.getByRole('textbox', { name: word('jobs.prompt'), exact: true }).fill('what is due today?');
  await job.getByRole('button', { name: /^(Save|Create)$/ }).click();
  await job.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: word('jobs.runNow') }).first().click();
  const runs = async () => {
    const { jobs } = await gateway.call<{ jobs: { id: string; name: string }[] }>('gsv__Cron', { action: 'list' });
    return (await gateway.call<{ runs: { status: string }[] }>('gsv__Cron', { action: 'runs', jobId: jobs.find((one) => one.name === 'Morning')?.id })).runs.map((one) => one.status);
  };
  await expect.poll(runs).toEqual(['ok']);

  // An agent of one's own.
  await nav.getByRole('link', { name: t('shell.pageAgents') }).click();
  await page.getByRole('button', { name: word('agents.new') }).first().click();
  const form = page.getByRole('dialog', { name: word('agents.new') });
  await form.getByRole('textbox', { name: t('common.name'), exact: true }).fill('writer');
  await form.getByRole('textbox', { name: word('agents.instructions') }).fill('You write letters.');
  await form.getByRole('button', { name: t('common.create'), exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'writer' }).waitFor();
  expect((await gateway.get<{ agents: { id: string }[] }>('/api/agents')).agents.map((one) => one.id)).toContain('writer');

  // Back to the conversation, by searching for it.
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: t('shell.palette') }).fill(t('shell.pageChat'));
  await page.getByRole('group', { name: t('shell.foundPages') }).getByRole('option', { name: t('shell.pageChat') }).first().click();
  await agent(page).getByText('The plan is written.').waitFor();

  // Dark, in German, on a phone.
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  const menu = await account(page);
  await menu.getByRole('radio', { name: t('shell.themeDark') }).check({ force: true });
  await expect.poll(ground).not.toBe(light);
  await menu.getByRole('combobox', { name: t('shell.language') }).selectOption('de');
  await page.getByRole('navigation', { name: german('shell.navigation') }).waitFor();
  expect(await ground()).not.toBe(light);
  await page.setViewportSize(PHONE);
  await page.getByRole('button', { name: german('shell.menu'), exact: true }).click();
  await page.getByRole('link', { name: german('shell.pageUsage') }).click();
  await page.getByRole('heading', { level: 1 }).filter({ hasText: german('shell.pageUsage') }).waitFor();
  await page.getByRole('status').filter({ hasText: german('shell.stateOpen') }).waitFor();
  expect(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth), 'nothing is too wide').toBe(0);
  await page.setViewportSize({ width: 1280, height: 860 });
  await page.getByRole('button', { name: german('shell.account') }).click();
  await page.getByRole('combobox', { name: german('shell.language') }).selectOption('en');
  await connected(page).waitFor();
});
