// Jobs: made in a form that says when they will run, run at once, looked back at.

import { expect, test } from 'vitest';
import { house } from './visit';

const here = house({ script: 'turns:\n  - when: { user: count the sheep }\n    text: There are seven.\n' });
type Job = { id: string; name: string; schedule: { kind: string; expr?: string; tz?: string }; enabled: boolean };
const jobs = () => here.gateway.call<{ jobs: Job[] }>('gsv__Cron', { action: 'list', includeDisabled: true });

test('a job is made in a form that shows the next five times, in the zone of whoever looks', async () => {
  const page = await here.open('cron', { timezoneId: 'Asia/Tokyo' });
  await page.getByText('No jobs yet').waitFor();
  await page.getByRole('button', { name: 'New job' }).click();
  const dialog = page.getByRole('dialog', { name: 'New job' });
  await dialog.getByRole('textbox', { name: 'Name' }).fill('sheep');
  await dialog.getByRole('textbox', { name: 'Minute, hour, day, month, weekday' }).fill('30 6 * * *');
  await dialog.getByRole('combobox', { name: 'Time zone' }).fill('UTC');
  const times = dialog.getByRole('listitem');
  // 06:30 in UTC is 15:30 in Tokyo.
  await expect.poll(() => times.allInnerTexts()).toHaveLength(5);
  await expect.poll(async () => (await times.allInnerTexts()).every((text) => text.includes('15:30'))).toBe(true);
  expect(new Set(await times.allInnerTexts()).size).toBe(5);
  await dialog.getByRole('textbox', { name: 'What is said' }).fill('count the sheep');
  await dialog.getByRole('button', { name: 'Keep' }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('checkbox', { name: 'sheep is on' }).waitFor();
  expect((await jobs()).jobs).toMatchObject([{ name: 'sheep', schedule: { kind: 'cron', expr: '30 6 * * *', tz: 'UTC' }, enabled: true }]);
  await page.getByRole('img', { name: 'When jobs are due next' }).waitFor();
});

test('a schedule that cannot be is refused before it is kept', async () => {
  const visitor = await here.visit();
  visitor.expected.add(400);
  const page = await visitor.open('cron');
  const before = (await jobs()).jobs.length;
  await page.getByRole('button', { name: 'New job' }).click();
  const dialog = page.getByRole('dialog', { name: 'New job' });
  await dialog.getByRole('textbox', { name: 'Name' }).fill('never');
  await dialog.getByRole('textbox', { name: 'Minute, hour, day, month, weekday' }).fill('99 99 * * *');
  await dialog.getByText(/99/).first().waitFor();
  await dialog.getByRole('textbox', { name: 'What is said' }).fill('x');
  await dialog.getByRole('button', { name: 'Keep' }).click();
  await dialog.getByRole('alert').getByText(/99/).waitFor();
  expect((await jobs()).jobs).toHaveLength(before);
});

test('a job that is run now is in the history, with what came of it', async () => {
  const page = await here.open('cron');
  await page.getByRole('button', { name: 'Run now' }).click();
  const history = page.getByRole('region', { name: 'History' });
  const row = history.getByRole('row').filter({ hasText: 'sheep' });
  await row.getByText('There are seven.').waitFor();
  await row.getByText('ok', { exact: true }).waitFor();
  const [job] = (await jobs()).jobs;
  const runs = await here.gateway.call<{ runs: { jobId: string; status: string; summary?: string }[] }>('gsv__Cron', { action: 'runs', jobId: job?.id });
  expect(runs.runs).toMatchObject([{ jobId: job?.id, status: 'ok' }]);
});

test('a job is edited, switched off and removed', async () => {
  const page = await here.open('cron');
  await page.getByRole('button', { name: 'Edit' }).click();
  const dialog = page.getByRole('dialog', { name: 'Edit sheep' });
  await dialog.getByRole('textbox', { name: 'Name' }).fill('lambs');
  await dialog.getByRole('button', { name: 'Keep' }).click();
  await page.getByRole('checkbox', { name: 'lambs is on' }).uncheck();
  await expect.poll(async () => (await jobs()).jobs).toMatchObject([{ name: 'lambs', enabled: false }]);
  await page.getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('button', { name: 'Remove it?' }).click();
  await page.getByText('No jobs yet').waitFor();
  expect((await jobs()).jobs).toEqual([]);
});
