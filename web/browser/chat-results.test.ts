// What came of calls and turns, shown as what it is, and what can be done with messages.

import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { soon } from './gateway';
import { McpServer } from './others';
import { written } from './png';
import { DESKTOP, PHONE, house } from './visit';
import { agent, connected, message, said, say, unfold, you } from './words';

const RICH = [
  'So $e^{i\\pi} + 1 = 0$, and it costs $5 or $10.',
  '$$\\int_0^1 x^2 \\, dx = \\frac{1}{3}$$',
  '```diff\n-was this\n+is that\n```',
  '```mermaid\ngraph LR\n  A[Question] -->|asks| B{Answer}\n```',
  '```py\n# a comment\nprint("x")\n```',
].join('\n\n');
const PROGRAM = "printf '\\033[32mgreen light\\033[0m\\n\\033[31mred light\\033[0m\\n'; seq 1 80; echo 'it broke' >&2; exit 2";

const camera = new McpServer([{ name: 'photo', description: 'Takes a photo.', inputSchema: { type: 'object' }, answers: 'one photo', picture: written({ width: 3, height: 2, pixels: Buffer.alloc(18, 120) }).toString('base64') }]);
beforeAll(() => camera.start());
afterAll(() => camera.stop());

const here = house({
  config: `
[egress]
allow_private = ["127.0.0.0/8"]
[sessions.reset]
mode = "manual"
[[policy.rules]]
decision = "ask"
tools = ["gsv__WriteFile"]
when.path.contains = "-note"
`,
  script: `
models: [demo, other]
turns:
  - when: { user: rich }
    thinking: "Numbers first.\\nThen words."
    text: ${JSON.stringify(RICH)}
    usage: { input: 1000, output: 200 }
  - when: { user: run it }
    calls: [{ id: p1, name: bash, arguments: { cmd: ${JSON.stringify(PROGRAM)} } }]
  - when: { user: run well }
    calls: [{ id: p2, name: bash, arguments: { cmd: "echo fine" } }]
  - when: { result_of: bash }
    text: It ran.
  - when: { user: change }
    calls:
      - { id: w1, name: gsv__WriteFile, arguments: { path: memory/plan.md, content: "one\\ntwo\\nthree\\n" } }
      - { id: e1, name: gsv__EditFile, arguments: { path: memory/plan.md, oldString: "two", newString: "2" } }
  - when: { result_of: gsv__EditFile }
    text: It changed.
  - when: { user: list sessions }
    calls: [{ id: l1, name: gsv__SessionsList, arguments: {} }, { id: l2, name: gsv__ReadFile, arguments: { path: / } }]
  - when: { result_of: gsv__ReadFile }
    text: There they are.
  - when: { user: photo please }
    calls: [{ id: i1, name: camera__photo, arguments: {} }]
  - when: { result_of: camera__photo }
    text: There it is.
  - when: { user: slow note }
    calls: [{ id: n1, name: gsv__WriteFile, arguments: { path: memory/slow-note.md, content: x } }]
  - when: { result_of: gsv__WriteFile }
    text: Written.
  - when: { user: break once }
    times: 1
    error: { kind: auth, message: the key was rejected }
  - when: { user: break once }
    text: Now it works.
  - when: { user: forever }
    deltas: ["The first words", " and the last ones"]
    between_ms: 3600000
  - when: { user: other answer }
    times: 1
    text: The first answer.
  - when: { user: other answer }
    text: The second answer.
  - when: { user: "" }
    text: Good morning.
    usage: { input: 10, output: 5 }
`,
});

let conversations = 0;
const fresh = () => `agent:main:results-${(conversations += 1)}`;
const card = (page: Page, tool: string): Locator => said(page).getByRole('group', { name: `Call of ${tool}` });
const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

async function barriers(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const wrong: string[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    const found = await page.evaluate(() => (window as unknown as { axe: { run(options: object): Promise<AxeResults> } }).axe.run({ resultTypes: ['violations'] }));
    for (const one of found.violations.filter(({ impact }) => impact !== 'minor')) for (const node of one.nodes) wrong.push(`${colorScheme}: ${one.id}: ${node.html.slice(0, 160)} ${node.failureSummary ?? ''}`);
  }
  return wrong;
}

test('a program that ended with another code than 0 failed, and its output has its colours and is folded', async () => {
  const page = await here.open(`chat/${fresh()}`);
  await say(page, 'run it');
  await agent(page).getByText('It ran.').waitFor();
  const failed = card(page, 'bash');
  await expect.poll(() => failed.locator('summary').innerText()).toMatch(/Failed[^]*Exit code 2/);
  await unfold(said(page), 'bash');
  const output = failed.getByRole('group', { name: 'Standard output' });
  const colour = (words: string) => output.getByText(words).evaluate((node) => getComputedStyle(node).color);
  const [green, red, none] = [await colour('green light'), await colour('red light'), await output.evaluate((node) => getComputedStyle(node).color)];
  expect(new Set([green, red, none]).size, 'three colours').toBe(3);
  expect(await output.innerText(), 'no escape sequence is left').not.toMatch(/\[3\dm|ESC/);
  await failed.getByRole('group', { name: 'Standard error' }).getByText('it broke').waitFor();
  expect(await output.innerText()).not.toContain('\n40\n');
  await output.getByRole('button', { name: /^Show \d+ more lines$/ }).click();
  await expect.poll(() => output.innerText()).toContain('\n40\n');
  // It is the same after a reload.
  await page.reload();
  await expect.poll(() => failed.locator('summary').innerText()).toMatch(/Failed[^]*Exit code 2/);
  // One that ended well did not. In a conversation of its own: after output was read, a program needs approval.
  const other = await here.open(`chat/${fresh()}`);
  await say(other, 'run well');
  await expect.poll(() => card(other, 'bash').locator('summary').innerText()).toContain('Succeeded');
  expect(await card(other, 'bash').locator('summary').innerText()).not.toContain('Exit code');
});

test('an edit is a diff that is seen at once, and a written file is shown as that', async () => {
  const page = await here.open(`chat/${fresh()}`);
  await say(page, 'change the plan');
  await agent(page).getByText('It changed.').waitFor();
  const edit = card(page, 'gsv__EditFile').getByRole('group', { name: /change/i });
  await expect.poll(async () => (await edit.innerText()).split('\n').filter((line) => /^[-+](two|2)$/.test(line))).toEqual(['-two', '+2']);
  await unfold(said(page), 'gsv__WriteFile');
  // Exactly: the heading of the card has its beginning too.
  await card(page, 'gsv__WriteFile').getByText('one two three', { exact: true }).waitFor();
  await card(page, 'gsv__WriteFile').getByRole('button', { name: 'Raw' }).click();
  await card(page, 'gsv__WriteFile').getByText('"written":true').waitFor();
});

test('an image that a tool gives is there without a reload, and after one', async () => {
  await here.gateway.post('/api/servers', { name: 'camera', server: { url: camera.url } });
  await soon('its tools are known', async () => (await here.gateway.ask('POST', '/api/servers/camera/refresh')).ok);
  const page = await here.open(`chat/${fresh()}`);
  await say(page, 'a photo please');
  await agent(page).getByText('There it is.').waitFor();
  const image = said(page).getByRole('img', { name: 'Image from camera__photo' });
  const width = () => image.evaluate((node: HTMLImageElement) => node.complete && node.naturalWidth);
  await expect.poll(width).toBe(3);
  await page.reload();
  await expect.poll(width).toBe(3);
});

test('a list of objects is a table, and another value a tree that can be folded', async () => {
  for (const key of [fresh(), fresh()]) await here.gateway.post('/api/chat', { sessionKey: key, message: 'hello' });
  await here.gateway.call('gsv__WriteFile', { path: 'memory/one.md', content: 'one' });
  const page = await here.open(`chat/${fresh()}`);
  await say(page, 'list sessions');
  await agent(page).getByText('There they are.').waitFor();
  await unfold(said(page), 'gsv__SessionsList');
  const table = card(page, 'gsv__SessionsList').getByRole('table');
  await table.getByRole('columnheader', { name: 'sessionKey' }).waitFor();
  expect(await table.getByRole('row').count()).toBeGreaterThan(2);
  await unfold(said(page), 'gsv__ReadFile');
  const tree = card(page, 'gsv__ReadFile');
  const leaf = tree.getByText('memory/', { exact: true });
  await leaf.waitFor();
  await tree.locator('summary').filter({ hasText: 'directories' }).last().click();
  await leaf.waitFor({ state: 'hidden' });
});

test('formulas are set, diagrams are drawn, reasoning is kept and folded, code has colours and a copy button', async () => {
  const page = await here.open(`chat/${fresh()}`, { permissions: ['clipboard-read', 'clipboard-write'] });
  await say(page, 'something rich');
  const reply = agent(page).last();
  await reply.locator('math mfrac').waitFor();
  expect(await reply.locator('math').count()).toBe(2);
  expect(await reply.innerText(), 'amounts are no formulas').toContain('$5 or $10');
  expect(await reply.locator('math mfrac').evaluate((node) => node.getBoundingClientRect().height)).toBeGreaterThan(20);
  await reply.getByText('Reasoning', { exact: true }).waitFor();
  expect(await reply.getByText('Numbers first.').isVisible()).toBe(false);
  await reply.getByText('Reasoning', { exact: true }).click();
  await reply.getByText('Numbers first.').waitFor();
  await reply.getByRole('img', { name: 'Question; Answer; asks' }).waitFor();
  const code = reply.getByRole('group', { name: /^py/ });
  const colours = await code.evaluate((node) => [...node.querySelectorAll('span')].map((one) => getComputedStyle(one).color));
  expect(new Set(colours).size).toBeGreaterThan(1);
  await page.getByRole('button', { name: 'Copy message' }).last().click();
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe(RICH);
});

test('the time that the owner takes is not the time a call takes', async () => {
  const page = await here.open(`chat/${fresh()}`);
  await say(page, 'the slow note');
  const ask = page.getByRole('article', { name: 'Approval needed for gsv__WriteFile' });
  await ask.waitFor();
  const asked = Date.now();
  await expect.poll(() => Date.now() - asked).toBeGreaterThan(2_500);
  await ask.getByRole('button', { name: 'Allow once' }).click();
  await agent(page).getByText('Written.').waitFor();
  const took = () => card(page, 'gsv__WriteFile').locator('summary').innerText();
  await expect.poll(took).toMatch(/\d+ ms|< 1 ms|[01]\.\d s/);
  expect(await took()).not.toMatch(/([2-9]|\d\d)\.\d s/);
});

test('a failure says why and can be tried again at once', async () => {
  const key = fresh();
  const page = await here.open(`chat/${key}`);
  await say(page, 'please break once');
  const failure = said(page).getByRole('group', { name: 'Error' });
  await failure.getByText('the key was rejected').waitFor();
  await failure.getByRole('button', { name: 'Try again' }).click();
  await agent(page).getByText('Now it works.').waitFor();
  await failure.waitFor({ state: 'detached' });
  expect(await you(page).count(), 'it was sent once').toBe(1);
  const kept = await here.gateway.get<{ messages: { role: string; text?: string }[] }>(`/api/sessions/${encodeURIComponent(key)}/messages`);
  expect(JSON.stringify(kept.messages).match(/please break once/g)).toHaveLength(1);
});

test('a reply that was stopped stays, and is marked', async () => {
  const page = await here.open(`chat/${fresh()}`);
  await say(page, 'talk forever');
  await agent(page).getByText('The first words', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  const stopped = agent(page).filter({ hasText: 'The first words' });
  await stopped.getByText('Stopped', { exact: true }).waitFor();
});

test('an answer is made again', async () => {
  const page = await here.open(`chat/${fresh()}`);
  await say(page, 'some other answer');
  await agent(page).getByText('The first answer.').waitFor();
  await page.getByRole('button', { name: 'Regenerate' }).click();
  await agent(page).getByText('The second answer.').waitFor();
  expect(await agent(page).count()).toBe(1);
  expect(await you(page).count()).toBe(1);
});

test('a conversation is exported as Markdown and as JSON', async () => {
  const page = await here.open(`chat/${fresh()}`);
  await say(page, 'run it');
  await agent(page).getByText('It ran.').waitFor();
  const exported = async (how: string) => {
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      (async () => {
        await page.getByRole('button', { name: 'Conversation actions' }).click();
        await page.getByRole('menuitem', { name: how }).click();
      })(),
    ]);
    return readFile((await download.path()) ?? '', 'utf8');
  };
  const markdown = await exported('Export as Markdown');
  expect(markdown).toMatch(/^# results-\d+\n\n## You[^]*run it[^]*### Tool: bash \(failed\)[^]*## Agent[^]*It ran\./);
  const told = JSON.parse(await exported('Export as JSON')) as { items: { kind: string; exit?: number }[] };
  expect(told.items.map((one) => one.kind).slice(0, 3)).toEqual(['user', 'tool', 'agent']);
  expect(told.items[1]?.exit).toBe(2);
});

test('every command is offered, the last ones too, and the list of them can be walked through', async () => {
  const page = await here.open(`chat/${fresh()}`);
  await connected(page).waitFor();
  await message(page).pressSequentially('/');
  const options = page.getByRole('listbox', { name: 'Commands' }).getByRole('option');
  await options.filter({ hasText: '/m:' }).waitFor();
  await options.filter({ hasText: '/t:' }).waitFor();
  await message(page).press('ArrowUp');
  await expect.poll(() => options.last().getAttribute('aria-selected')).toBe('true');
  await message(page).press('Escape');
  await options.first().waitFor({ state: 'detached' });
});

test('an empty conversation suggests what to ask for, and a suggestion can be changed before it is sent', async () => {
  const page = await here.open(`chat/${fresh()}`);
  await page.getByRole('heading', { name: 'What can I help with?' }).waitFor();
  const first = page.getByRole('group', { name: 'Suggestions' }).getByRole('button').first();
  const words = await first.innerText();
  await first.click();
  await expect.poll(() => message(page).inputValue()).toBe(words.trim());
  expect(await you(page).count(), 'nothing was sent').toBe(0);
});

test('a phone has one header, and nothing keeps anybody out on either size', async () => {
  const key = fresh();
  const page = await here.open(`chat/${key}`, { viewport: DESKTOP });
  await say(page, 'something rich');
  await agent(page).locator('math mfrac').waitFor();
  await say(page, 'run it');
  await agent(page).getByText('It ran.').waitFor();
  await unfold(said(page), 'bash');
  await card(page, 'bash').getByRole('group', { name: 'Standard output' }).waitFor();
  await say(page, 'change the plan');
  await agent(page).getByText('It changed.').waitFor();
  expect(await barriers(page)).toEqual([]);
  await page.setViewportSize(PHONE);
  const title = page.getByRole('heading', { level: 1 });
  await expect.poll(async () => (await title.boundingBox())?.y ?? 99).toBeLessThan(30);
  expect(await title.count()).toBe(1);
  await page.getByRole('button', { name: /^Model:/ }).click();
  await page.getByRole('combobox', { name: 'Search models' }).waitFor();
  const list = page.getByRole('listbox', { name: 'Models' });
  expect(await barriers(page)).toEqual([]);
  const box = await list.boundingBox();
  expect((box?.x ?? -1) >= 0 && (box?.x ?? 0) + (box?.width ?? 999) <= PHONE.width).toBe(true);
  await page.keyboard.press('Escape');
  await list.waitFor({ state: 'detached' });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(PHONE.width);
});
