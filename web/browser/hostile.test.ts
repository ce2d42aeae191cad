// Text of others stays text: whatever a tool, a model or a person sends, nothing of it acts on the page.

import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { house } from './visit';
import { agent, connected, said, say, unfold } from './words';

const MARKUP = '<h1 id="evil">big</h1><script>window.ran = 1</script><img src="x" onerror="window.ran = 2"><svg onload="window.ran = 3"></svg><iframe srcdoc="<script>parent.ran = 4</script>"></iframe><a href="javascript:window.ran = 5" id="evil-link">go</a><style>body { display: none }</style>';
const CONTROL = 'bell\u0007 escape\u001b[31mred nul\u0000 delete\u007f';
const TURNED = 'invoice\u202Efdp.exe and \u2066isolated\u2069 and \u200bhidden and \u200fmarked';
const ZALGO = `z${'\u0301'.repeat(300)}`;
const HOSTILE = [MARKUP, CONTROL, TURNED, ZALGO].join('\n');

const REPLY = [
  MARKUP,
  '[click me](javascript:window.ran=6) and [here](data:text/html,<script>window.ran=7</script>) and [there](vbscript:x)',
  '[tabbed](java\tscript:window.ran=8) <javascript:window.ran=9> [good](https://example.org/kept)',
  '![picture](https://evil.example/pixel.png) ![inline](javascript:window.ran=10)',
  '```html\n<script>window.ran = 11</script>\n```',
  '`<b>code</b>` and **<i>bold</i>**',
  TURNED,
].join('\n\n');

const here = house({
  script: `
turns:
  - when: { user: hostile file }
    calls: [{ id: h1, name: gsv__ReadFile, arguments: { path: memory/hostile.md } }]
  - when: { user: huge file }
    calls: [{ id: h2, name: gsv__ReadFile, arguments: { path: memory/huge.txt } }]
  - when: { result_of: gsv__ReadFile }
    text: Read.
  - when: { user: speak }
    text: ${JSON.stringify(REPLY)}
  - when: { user: long }
    text: ${JSON.stringify(`${'*'.repeat(20_000)}${'[x]('.repeat(10_000)}${'> '.repeat(5_000)}end`)}
  - when: { user: "" }
    text: Fine.
`,
});

/** Nothing of what was sent became an element, ran, or is carried out when it is touched. */
async function harmless(page: Page): Promise<void> {
  const found = await page.evaluate(() => ({
    ran: 'ran' in window,
    elements: document.querySelectorAll('#evil, #evil-link, iframe, object, embed, main script, main style, main svg[onload], img[onerror]').length,
    links: [...document.querySelectorAll('a[href]')].map((link) => link.getAttribute('href') ?? '').filter((href) => !/^(#|docs\/|\/(?!\/)|https?:)/.test(href)),
    pictures: [...document.querySelectorAll('img')].map((picture) => picture.src).filter((src) => !src.startsWith(location.origin) && !/^(data|blob):/.test(src)),
    hidden: getComputedStyle(document.body).display,
  }));
  expect(found).toEqual({ ran: false, elements: 0, links: [], pictures: [], hidden: 'block' });
}

/** Characters that would act on the reader's eyes, where they are not shown by name. */
async function bare(page: Page): Promise<string[]> {
  return page.evaluate(() => [...new Set(document.body.innerText.match(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\u200b\u200f\u202a-\u202e\u2066-\u2069]/g) ?? [])].map((one) => `U+${one.charCodeAt(0).toString(16)}`));
}

test('a hostile result of a tool is shown as the text it is', async () => {
  await here.gateway.call('gsv__WriteFile', { path: 'memory/hostile.md', content: HOSTILE });
  const page = await here.open('tools/gsv__ReadFile');
  await page.getByRole('textbox', { name: 'path' }).fill('memory/hostile.md');
  await page.getByRole('button', { name: 'Run' }).click();
  const result = page.getByRole('region', { name: 'Result' });
  await result.getByText('window.ran = 1', { exact: false }).waitFor();
  const text = await result.innerText();
  expect(text).toContain('<h1 id=');
  expect(text, 'control characters have names').toMatch(/BEL[^]*ESC|\\u0007[^]*\\u001b/);
  expect(text, 'turned text is marked where it turns').toMatch(/invoice(U\+202E|\\u202e)fdp\.exe/i);
  await harmless(page);
  expect(await bare(page)).toEqual([]);
});

test('in a conversation it is text too, live and after a reload', async () => {
  const page = await here.open('chat/agent:main:hostile');
  await say(page, 'the hostile file');
  await agent(page).getByText('Read.').waitFor();
  await unfold(said(page), 'gsv__ReadFile');
  await said(page).getByText('window.ran = 1', { exact: false }).waitFor();
  await harmless(page);
  expect(await bare(page)).toEqual([]);
  await page.reload();
  await agent(page).getByText('Read.').waitFor();
  await unfold(said(page), 'gsv__ReadFile');
  await said(page).getByText('window.ran = 1', { exact: false }).waitFor();
  await harmless(page);
});

test('a hostile reply of a model makes no element, no link that runs and no request', async () => {
  const visitor = await here.visit();
  const page = await visitor.open('chat/agent:main:speaks');
  await say(page, 'speak');
  const reply = agent(page).last();
  await reply.getByRole('link', { name: 'good' }).waitFor();
  expect(await reply.getByRole('link').evaluateAll((links) => links.map((link) => link.getAttribute('href')))).toContain('https://example.org/kept');
  for (const link of await reply.getByRole('link').all()) {
    expect(await link.getAttribute('href')).toMatch(/^https?:\/\//);
    expect(await link.getAttribute('rel')).toContain('noopener');
  }
  expect(await reply.innerText()).toContain('<script>window.ran = 1</script>');
  await harmless(page);
  expect(await bare(page)).toEqual([]);
  expect(visitor.elsewhere()).toEqual([]);
});

test('megabytes of output leave the page small and quick to use', async () => {
  const huge = `begin\n${'<b>word</b> \u202e\u0007'.repeat(250_000)}\nend`;
  await here.gateway.call('gsv__WriteFile', { path: 'memory/huge.txt', content: huge });
  const page = await here.open('tools/gsv__ReadFile');
  await page.getByRole('textbox', { name: 'path' }).fill('memory/huge.txt');
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByRole('region', { name: 'Result' }).getByText(/begin/).first().waitFor();
  const elements = () => page.evaluate(() => document.querySelectorAll('*').length);
  expect(await elements()).toBeLessThan(12_000);
  await harmless(page);

  await page.goto(`${here.gateway.url}/#/chat/agent:main:huge`);
  await say(page, 'the huge file');
  await agent(page).getByText('Read.').waitFor();
  await unfold(said(page), 'gsv__ReadFile');
  expect(await elements()).toBeLessThan(12_000);
  await say(page, 'and now?');
  await agent(page).getByText('Fine.').waitFor();
});

test('a reply that is made to be slow to lay out is laid out all the same', async () => {
  const page = await here.open('chat/agent:main:slow');
  await say(page, 'long');
  await said(page).getByText(/tokens in/).waitFor();
  expect(await page.evaluate(() => document.querySelectorAll('*').length)).toBeLessThan(30_000);
  await say(page, 'still there?');
  await agent(page).getByText('Fine.').waitFor();
});

test('names and descriptions of others are text on every page that shows them', async () => {
  const { gateway } = here;
  const name = `${MARKUP}${TURNED}`;
  await gateway.call('todo_update', { action: 'add', content: name, people: ['$SPEAKER'] });
  await gateway.call('gateway_write_artifact', { filename: 'page.html', content: MARKUP, fileType: 'html' });
  await gateway.call('gsv__Cron', { action: 'add', job: { name: 'j<img src=x onerror=window.ran=1>', schedule: { kind: 'every', everyMs: 86_400_000 }, spec: { mode: 'systemEvent', text: name } } });
  const visitor = await here.visit();
  for (const place of ['people', 'artifacts', 'cron', 'activity', 'chat', 'workspace/main/memory/hostile.md', 'health', 'usage']) {
    const page = await visitor.open(place);
    await connected(page).waitFor();
    await page.waitForLoadState('networkidle');
    await harmless(page);
    await page.close();
  }
});

test('an artifact that is a page is never opened as one', async () => {
  const { artifacts } = await here.gateway.get<{ artifacts: { id: string; name: string }[] }>('/api/artifacts');
  const id = artifacts.find((one) => one.name === 'page.html')?.id ?? '';
  const visitor = await here.visit();
  const page = await visitor.open(`artifacts/${id}`);
  await page.getByText('window.ran = 1', { exact: false }).waitFor();
  await harmless(page);
  // By the address that needs the session's token, and by the signed one that a download uses.
  const { url } = await here.gateway.post<{ url: string }>(`/api/artifacts/${id}/url`);
  for (const [address, headers] of [[`${here.gateway.url}/api/artifacts/${id}`, { authorization: `Bearer ${here.gateway.owner}` }], [url, {}]] as const) {
    const direct = await visitor.context.request.get(address, { headers });
    expect(direct.status(), address).toBe(200);
    expect(direct.headers()['content-disposition'] ?? '').toContain('attachment');
    expect(direct.headers()['x-content-type-options']).toBe('nosniff');
  }
});
