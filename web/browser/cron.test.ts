// Jobs: made in a form that says when they will run, run at once, looked back at.

import { expect, test } from 'vitest';
import { house } from './visit';

// The gateway lives by other clocks than those who look.
const here = house({ config: 'timezone = "Asia/Kolkata"\n', script: 'turns:\n  - when: { user: count the sheep }\n    text: There are seven.\n' });
type Job = { id: string; name: string; schedule: { kind: string; expr?: string; tz?: string; everyMs?: number; anchorMs?: number; atMs?: number }; enabled: boolean; state: { nextRunAtMs?: number } };
const jobs = () => here.gateway.call<{ jobs: Job[] }>('gsv__Cron', { action: 'list', includeDisabled: true });

test('a job is made in a form that shows the next five times, in the zone of whoever looks', async () => {
  const page = await here.open('cron', { timezoneId: 'Asia/Tokyo' });
  await page.getByText('No jobs yet').waitFor();
  await page.getByRole('button', { name: 'New job' }).click();
  const dialog = page.getByRole('dialog', { name: 'New job' });
  await dialog.getByRole('textbox', { name: 'Name' }).fill('sheep');
  await dialog.getByRole('textbox', { name: 'Cron expression' }).fill('30 6 * * *');
  await dialog.getByRole('combobox', { name: 'Time zone' }).fill('UTC');
  const times = dialog.getByRole('listitem');
  // 06:30 in UTC is 15:30 in Tokyo.
  await expect.poll(() => times.allInnerTexts()).toHaveLength(5);
  await expect.poll(async () => (await times.allInnerTexts()).every((text) => text.includes('15:30'))).toBe(true);
  expect(new Set(await times.allInnerTexts()).size).toBe(5);
  await dialog.getByRole('textbox', { name: 'Prompt' }).fill('count the sheep');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('switch', { name: 'sheep enabled' }).waitFor();
  expect((await jobs()).jobs).toMatchObject([{ name: 'sheep', schedule: { kind: 'cron', expr: '30 6 * * *', tz: 'UTC' }, enabled: true }]);
  await page.getByRole('img', { name: 'Upcoming runs in your time zone' }).waitFor();
});

test('a schedule that cannot be is refused before it is kept', async () => {
  const visitor = await here.visit();
  visitor.expected.add(400);
  const page = await visitor.open('cron');
  const before = (await jobs()).jobs.length;
  await page.getByRole('button', { name: 'New job' }).click();
  const dialog = page.getByRole('dialog', { name: 'New job' });
  await dialog.getByRole('textbox', { name: 'Name' }).fill('never');
  await dialog.getByRole('textbox', { name: 'Cron expression' }).fill('99 99 * * *');
  await dialog.getByText(/99/).first().waitFor();
  await dialog.getByRole('textbox', { name: 'Prompt' }).fill('x');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByRole('alert').getByText(/99/).waitFor();
  expect((await jobs()).jobs).toHaveLength(before);
});

test('a job that is run now is in the history, with what came of it', async () => {
  const page = await here.open('cron');
  await page.getByRole('button', { name: 'Run now' }).click();
  const history = page.getByRole('region', { name: 'History' });
  const row = history.getByRole('row').filter({ hasText: 'sheep' });
  await row.getByText('There are seven.').waitFor();
  await row.getByText('OK', { exact: true }).waitFor();
  const [job] = (await jobs()).jobs;
  const runs = await here.gateway.call<{ runs: { jobId: string; status: string; summary?: string }[] }>('gsv__Cron', { action: 'runs', jobId: job?.id });
  expect(runs.runs).toMatchObject([{ jobId: job?.id, status: 'ok' }]);
});

test('a job is edited, switched off and removed', async () => {
  const page = await here.open('cron');
  await page.getByRole('button', { name: 'Edit' }).click();
  const dialog = page.getByRole('dialog', { name: 'Edit sheep' });
  await dialog.getByRole('textbox', { name: 'Name' }).fill('lambs');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('switch', { name: 'lambs enabled' }).uncheck();
  await expect.poll(async () => (await jobs()).jobs).toMatchObject([{ name: 'lambs', enabled: false }]);
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('button', { name: 'Delete this job?' }).click();
  await page.getByText('No jobs yet').waitFor();
  expect((await jobs()).jobs).toEqual([]);
});

test('a job without a time zone is shown for when it will run: by the clock of the gateway', async () => {
  const page = await here.open('cron', { timezoneId: 'America/New_York' });
  await page.getByRole('button', { name: 'New job' }).click();
  const dialog = page.getByRole('dialog', { name: 'New job' });
  await dialog.getByRole('textbox', { name: 'Name' }).fill('yearly');
  await dialog.getByRole('textbox', { name: 'Cron expression' }).fill('0 9 15 1 *');
  const zone = dialog.getByRole('combobox', { name: 'Time zone' });
  expect(await zone.inputValue()).toBe('America/New_York');
  const times = dialog.getByRole('listitem');
  await times.filter({ hasText: '09:00' }).first().waitFor();
  await zone.fill('');
  // 09:00 in Kolkata is 22:30 of the day before in New York, and each year is another.
  await expect.poll(async () => (await times.allInnerTexts()).filter((text) => /14 Jan 20\d\d.* 22:30/.test(text)).length).toBe(5);
  await dialog.getByText('Asia/Kolkata').waitFor();
  await dialog.getByRole('textbox', { name: 'Prompt' }).fill('count the sheep');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.waitFor({ state: 'detached' });
  const [kept] = (await jobs()).jobs;
  expect(kept?.schedule).toEqual({ kind: 'cron', expr: '0 9 15 1 *' });
  expect(new Date(kept?.state.nextRunAtMs ?? 0).toISOString()).toMatch(/-01-15T03:30:00.000Z$/);
  await here.gateway.call('gsv__Cron', { action: 'remove', id: kept?.id });
});

test('a job that gets another name keeps its clock to the millisecond', async () => {
  const add = async (name: string, schedule: object) => (await here.gateway.call<{ job: Job }>('gsv__Cron', { action: 'add', job: { name, schedule, spec: { mode: 'task', message: 'count the sheep', thinking: 'low' } } })).job;
  const before = [await add('odd', { kind: 'every', everyMs: 5_400_001 }), await add('once', { kind: 'at', at: '2031-03-01T10:00:17Z' })];
  const job = async (name: string) => (await jobs()).jobs.find((one) => one.name === name);
  const page = await here.open('cron');
  const edit = async (name: string, then: (dialog: ReturnType<typeof page.getByRole>) => Promise<void>) => {
    await page.getByRole('listitem').filter({ has: page.getByRole('switch', { name: `${name} enabled` }) }).getByRole('button', { name: 'Edit' }).click();
    const dialog = page.getByRole('dialog', { name: `Edit ${name}` });
    await then(dialog);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
  };
  for (const { name, schedule, state } of before) {
    await edit(name, (dialog) => dialog.getByRole('textbox', { name: 'Name' }).fill(`${name} again`));
    await expect.poll(() => job(`${name} again`)).toMatchObject({ schedule, state: { nextRunAtMs: state.nextRunAtMs } });
    await page.getByRole('switch', { name: `${name} again enabled` }).waitFor();
  }
  // Another interval is counted from where the first began.
  await edit('odd again', async (dialog) => {
    await dialog.getByRole('spinbutton', { name: 'Interval length' }).fill('0.5');
    await dialog.getByRole('combobox', { name: 'Unit' }).selectOption('hours');
  });
  await expect.poll(async () => (await job('odd again'))?.schedule).toEqual({ kind: 'every', everyMs: 1_800_000, anchorMs: before[0]?.schedule.anchorMs });
});

test('a job is started from a template and repeats without cron syntax; its run can be opened', async () => {
  for (const { id } of [...(await jobs()).jobs] as (Job & { id: string })[]) await here.gateway.call('gsv__Cron', { action: 'remove', id });
  const page = await here.open('cron');
  await page.getByRole('button', { name: /^Morning summary/ }).click();
  const dialog = page.getByRole('dialog', { name: 'New job' });
  expect(await dialog.getByRole('textbox', { name: 'Name' }).inputValue()).toBe('Morning summary');
  expect(await dialog.getByRole('combobox', { name: 'Repeat' }).inputValue()).toBe('weekdays');
  await dialog.getByText('Monday to Friday at 08:00').waitFor();
  await dialog.getByRole('combobox', { name: 'Repeat' }).selectOption('Every week');
  await dialog.getByRole('combobox', { name: 'Weekday' }).selectOption('Thursday');
  await dialog.getByLabel('Time', { exact: true }).fill('17:45');
  await dialog.getByText('Every Thursday at 17:45').waitFor();
  expect(await dialog.getByRole('textbox', { name: 'Cron expression' }).inputValue()).toBe('45 17 * * 4');
  await dialog.getByRole('textbox', { name: 'Prompt' }).fill('count the sheep');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.waitFor({ state: 'detached' });
  expect((await jobs()).jobs).toMatchObject([{ name: 'Morning summary', schedule: { expr: '45 17 * * 4', tz: 'UTC' } }]);
  const card = page.getByRole('listitem').filter({ has: page.getByRole('switch', { name: 'Morning summary enabled' }) });
  await card.getByText('Every Thursday at 17:45').waitFor();
  await card.getByRole('button', { name: 'Run now' }).click();
  await page.getByRole('region', { name: 'History' }).getByRole('row').filter({ hasText: 'Morning summary' }).getByRole('link', { name: 'Open run' }).click();
  await page.getByRole('article', { name: 'Agent' }).getByText('There are seven.').waitFor();
});
