// Browsers that visit a gateway, and are watched: what they asked for, and everything that went wrong in them.

import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions, type Page, type Request } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, inject } from 'vitest';
import { Gateway, type Wanted } from './gateway';

const FLAGS = ['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
/** How many times slower than they are the pages work and the answers come (`SLOW=5 make browser`), to find claims that judge too early. */
const SLOW = Number(process.env.SLOW ?? 1);
export const DESKTOP = { width: 1280, height: 860 };
export const PHONE = { width: 390, height: 844 };

/** Starts Chromium with a profile of its own. */
export async function launch(): Promise<Browser> {
  const root = process.getuid?.() === 0;
  const options = { executablePath: inject('chromium'), args: FLAGS };
  try {
    return await chromium.launch({ ...options, chromiumSandbox: !root });
  } catch (error) {
    // Where neither namespaces nor a setuid helper are to be had, as in many containers, Chromium refuses to shut itself in.
    if (root || !/sandbox/i.test(String(error))) throw error;
    return chromium.launch({ ...options, chromiumSandbox: false });
  }
}

/** One browser of one person: what it stores, its pages, and what was noticed in them. */
export class Visitor {
  /** Every address that was asked for, sockets included. */
  readonly asked: string[] = [];
  /** Errors of scripts, messages of the console, refusals of the content security policy, answers that failed. */
  readonly trouble: string[] = [];
  /** Answers with these statuses are what the test is about. */
  readonly expected = new Set<number>();
  readonly #waiting = new Set<Request>();

  constructor(
    readonly context: BrowserContext,
    private readonly gateway: Gateway,
  ) {
    context.setDefaultTimeout(45_000);
    context.on('request', (request) => {
      this.asked.push(request.url());
      this.#waiting.add(request);
    });
    context.on('requestfinished', (request) => this.#waiting.delete(request));
    context.on('requestfailed', (request) => this.#waiting.delete(request));
    context.on('response', (response) => {
      const status = response.status();
      if (status >= 400 && !this.expected.has(status)) this.trouble.push(`${response.request().method()} ${response.url()} was answered ${status}`);
    });
    context.on('page', (page) => {
      if (SLOW > 1) void slow(page).catch(() => undefined);
      page.on('websocket', (socket) => this.asked.push(socket.url().replace(/^ws/, 'http')));
      page.on('pageerror', (error) => this.trouble.push(`${page.url()}: ${error.message}`));
      page.on('console', (message) => {
        // What was answered badly is noted above, with its address.
        if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) this.trouble.push(`${page.url()}: ${message.text()}`);
      });
    });
  }

  /** A page of the gateway, by what stands after the # of its address, once it is there. */
  async open(place = ''): Promise<Page> {
    const page = await this.context.newPage();
    await page.goto(`${this.gateway.url}/${place ? `#/${place}` : ''}`);
    return page;
  }

  /** Waits until a page that was just opened has what it asked for. */
  async settled(page: Page): Promise<void> {
    await page.getByRole('heading', { level: 1, includeHidden: true }).first().waitFor({ state: 'attached' });
    const looking = page.getByText(/^(Looking|Loading)…$/);
    let quiet = 0;
    await expect.poll(async () => (quiet = this.#waiting.size || (await looking.count()) ? 0 : quiet + 1)).toBeGreaterThan(3);
  }

  /** What was asked of anybody but the gateway. */
  elsewhere(): string[] {
    return this.asked.filter((url) => new URL(url).origin !== this.gateway.url && !/^(data|blob):/.test(url));
  }
}

export type House = {
  gateway: Gateway;
  browser: Browser;
  /** A browser that is logged in. */
  visit(options?: BrowserContextOptions): Promise<Visitor>;
  /** A browser that nobody knows. */
  stranger(options?: BrowserContextOptions): Promise<Visitor>;
  /** A page of a browser that is logged in. */
  open(place?: string, options?: BrowserContextOptions): Promise<Page>;
};

/** One gateway and one browser for the tests of a file. After each test nothing may have gone wrong in any page. */
export function house(wanted: Wanted = {}): House {
  const visitors: Visitor[] = [];
  const here = {} as House;

  beforeAll(async () => {
    [here.gateway, here.browser] = await Promise.all([Gateway.start(wanted), launch()]);
  });
  afterAll(async () => {
    await here.browser?.close();
    await here.gateway?.stop();
  });

  here.stranger = async (options = {}) => {
    const context = await here.browser.newContext({ viewport: DESKTOP, serviceWorkers: 'block', reducedMotion: 'reduce', locale: 'en-GB', timezoneId: 'UTC', ...options });
    const visitor = new Visitor(context, here.gateway);
    visitors.push(visitor);
    return visitor;
  };
  here.visit = async (options) => here.stranger({ ...options, storageState: await loggedIn(here.gateway) });
  here.open = async (place, options) => (await here.visit(options)).open(place);

  afterEach(async ({ task }) => {
    const all = visitors.splice(0);
    const failed = task.result?.state === 'fail';
    for (const visitor of all) {
      if (failed) await picture(visitor, task.name);
      await visitor.context.close();
    }
    const trouble = all.flatMap((visitor) => visitor.trouble);
    if (failed) {
      if (trouble.length) console.error(trouble.join('\n'));
      return;
    }
    expect(trouble, 'nothing went wrong in a page').toEqual([]);
    expect(all.flatMap((visitor) => visitor.elsewhere()), 'nobody else was asked').toEqual([]);
  });
  return here;
}

/** Makes a page slow, each a little differently. */
async function slow(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send('Emulation.setCPUThrottlingRate', { rate: SLOW });
  await session.send('Network.emulateNetworkConditions', { offline: false, latency: Math.random() * 100 * SLOW, downloadThroughput: -1, uploadThroughput: -1 });
}

/** Where the page stores its session. */
export const SESSION = 'manyhands.session';

/** What a browser has stored that logged in with a link of its own. */
async function loggedIn(gateway: Gateway): Promise<Exclude<BrowserContextOptions['storageState'], string | undefined>> {
  return { cookies: [], origins: [{ origin: gateway.url, localStorage: [{ name: SESSION, value: await gateway.session() }] }] };
}

/** What was to be seen when a test failed. */
async function picture(visitor: Visitor, test: string): Promise<void> {
  const folder = fileURLToPath(new URL('../screenshots/failed/', import.meta.url));
  await mkdir(folder, { recursive: true });
  for (const [at, page] of visitor.context.pages().entries()) {
    const path = `${folder}${test.replaceAll(/\W+/g, '-').slice(0, 80)}-${at}.png`;
    await page.screenshot({ path, timeout: 5_000 }).catch(() => undefined);
    console.error(`what was seen: ${path}`);
  }
}
