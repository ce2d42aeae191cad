// A gateway as its user has it: the real binary, a home of its own, a port of its own. What a test claims
// about the page is looked up here, from outside.

import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';

const PATIENCE = 60_000;

export type Answer<T = unknown> = { ok: boolean; result?: T; error?: string; code?: string };
export type Ran = { code: number | null; stdout: string; stderr: string };
export type Wanted = {
  /** Turns of a scripted model; without them there is no model. */
  script?: string;
  /** More settings, as they stand in config.toml. */
  config?: string;
};

/** A program that runs until it is ended, and what it has said. */
export class Program {
  said = '';
  readonly #ended: Promise<number | null>;

  constructor(readonly child: ChildProcess) {
    const hear = (words: Buffer) => (this.said = (this.said + words.toString()).slice(-200_000));
    child.stdout?.on('data', hear);
    child.stderr?.on('data', hear);
    this.#ended = new Promise((done) => child.once('exit', (code) => done(code)));
  }

  /** Waits until it has said something that fits, and gives what fits. */
  async says(words: RegExp): Promise<RegExpExecArray> {
    let ended = false;
    void this.#ended.then(() => (ended = true));
    return soon(`${words} is said`, () => {
      const found = words.exec(this.said);
      if (!found && ended) throw new Ended(`it ended before it said ${words}:\n${this.said}`);
      return found;
    });
  }

  /** Ends it at once, as when a machine loses its power. */
  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.#ended;
  }

  /** Asks it to end, and makes it end. */
  async end(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill('SIGTERM');
    const again = setTimeout(() => this.child.kill('SIGTERM'), 2_000);
    const hard = setTimeout(() => this.child.kill('SIGKILL'), 10_000);
    await this.#ended;
    clearTimeout(again);
    clearTimeout(hard);
  }
}

class Ended extends Error {}

/** Asks again until there is an answer, within bounds. */
export async function soon<T>(what: string, ask: () => T | null | undefined | false | Promise<T | null | undefined | false>): Promise<T> {
  const until = Date.now() + PATIENCE;
  let wrong: unknown;
  for (;;) {
    try {
      const found = await ask();
      if (found) return found;
    } catch (error) {
      if (error instanceof Ended) throw error;
      wrong = error;
    }
    if (Date.now() > until) throw new Error(`never came: ${what}`, { cause: wrong });
    await new Promise((done) => setTimeout(done, 30));
  }
}

export class Gateway {
  readonly #others: Program[] = [];

  private constructor(
    /** A folder that goes with the gateway. */
    readonly folder: string,
    readonly url: string,
    /** The link that it printed when it started. */
    readonly link: string,
    readonly owner: string,
    private program: Program,
  ) {}

  static async start({ script, config = '' }: Wanted = {}): Promise<Gateway> {
    const folder = await mkdtemp(join(tmpdir(), 'manyhands-browser-'));
    const home = join(folder, 'home');
    await mkdir(home, { mode: 0o700 });
    await mkdir(join(folder, 'user'));
    const lines = [config];
    if (script !== undefined) {
      await writeFile(join(folder, 'script.yaml'), script);
      lines.push('[models]', 'default = "scripted/demo"', '[models.providers.scripted]', 'kind = "scripted"', `script = ${JSON.stringify(join(folder, 'script.yaml'))}`);
      lines.push('[models.prices."scripted/demo"]', 'input = 3.0', 'output = 15.0');
    }
    await writeFile(join(home, 'config.toml'), lines.join('\n'));
    const program = new Program(started(folder, ['up', '--no-node', '--listen', '127.0.0.1:0'], {}));
    try {
      const [, url = ''] = await program.says(/ is up at (\S+)\s/);
      const [, link = ''] = await program.says(/page\s+(http\S+)\s/);
      await program.says(/\n {2}try /);
      const owner = (await readFile(join(home, 'owner.token'), 'utf8')).trim();
      return new Gateway(folder, url, link, owner, program);
    } catch (error) {
      await program.end();
      throw error;
    }
  }

  /** Ends it and starts it again at the same address, as after a restart of the machine. */
  async restart(): Promise<void> {
    await this.program.end();
    this.program = new Program(started(this.folder, ['up', '--no-node', '--listen', new URL(this.url).host], {}));
    await this.program.says(/ is up at (\S+)/);
  }

  /** Ends it for a while; `resume` starts it at the same address. */
  async pause(): Promise<void> {
    await this.program.end();
  }

  async resume(): Promise<void> {
    await this.restart();
  }

  get home(): string {
    return join(this.folder, 'home');
  }

  /** Asks over HTTP, in the owner's name. */
  async ask<T = unknown>(method: string, path: string, body?: unknown): Promise<Answer<T> & { status: number }> {
    const headers = { authorization: `Bearer ${this.owner}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) };
    const response = await fetch(this.url + path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
    return { ...((await response.json()) as Answer<T>), status: response.status };
  }

  /** What a request gives that has to work. */
  async get<T>(path: string): Promise<T> {
    return this.#worked(path, await this.ask<T>('GET', path));
  }

  async post<T>(path: string, body: unknown = {}): Promise<T> {
    return this.#worked(path, await this.ask<T>('POST', path, body));
  }

  /** What a tool gives. */
  call<T>(tool: string, args: unknown): Promise<T> {
    return this.post<T>(`/api/tools/${tool}`, args);
  }

  #worked<T>(path: string, answer: Answer<T>): T {
    if (!answer.ok) throw new Error(`${path}: ${answer.code} ${answer.error}`);
    return answer.result as T;
  }

  /** A fresh link that logs a browser in, once. */
  async loginLink(): Promise<string> {
    return this.url + (await this.post<{ path: string }>('/api/session/link')).path;
  }

  /** The token of a fresh browser session. */
  async session(): Promise<string> {
    const [, code = ''] = (await this.loginLink()).split('#code=');
    return (await this.post<{ token: string }>('/api/session/login', { code })).token;
  }

  /** Runs the command line to its end. */
  async cli(...args: string[]): Promise<Ran> {
    const child = started(this.folder, args, {});
    const ran: Ran = { code: null, stdout: '', stderr: '' };
    child.stdout?.on('data', (words: Buffer) => (ran.stdout += words.toString()));
    child.stderr?.on('data', (words: Buffer) => (ran.stderr += words.toString()));
    ran.code = await new Promise((done) => child.once('close', (code) => done(code)));
    return ran;
  }

  /** Lends this machine as a node, from a home of its own. */
  async node(code: string, workspace: string): Promise<Program> {
    const home = await mkdtemp(join(this.folder, 'node-'));
    await mkdir(workspace, { recursive: true });
    const program = new Program(started(this.folder, ['node', '--url', this.url, '--code', code, '--workspace', workspace], { MANYHANDS_HOME: home }));
    this.#others.push(program);
    return program;
  }

  /** Starts something beside it that ends with it. */
  beside(program: Program): Program {
    this.#others.push(program);
    return program;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#others.map((other) => other.end()));
    await this.program.end();
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

function started(folder: string, args: string[], more: Record<string, string>): ChildProcess {
  // A development build serves the page from this folder, so that no build of the binary is needed to test the page.
  const page = process.env.MANYHANDS_PAGE ? { MANYHANDS_PAGE: process.env.MANYHANDS_PAGE } : {};
  const env = { PATH: process.env.PATH ?? '', HOME: join(folder, 'user'), MANYHANDS_HOME: join(folder, 'home'), TZ: 'UTC', ...page, ...more };
  return spawn(inject('binary'), args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
}
