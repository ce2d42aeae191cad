// A gateway, a scripted model and a list of cases, for the Node.js suites.

import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export const BINARY = process.env.MANYHANDS_BIN;
export const INTEROP = process.env.INTEROP;
/** The folder with the packages of this suite. */
export const PACKAGES = join(process.env.PACKAGES, 'node_modules');

/** A program, and the line of its output that has `marker` in it. */
export async function started(command, args, marker, options = {}) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
  const seen = [];
  const line = await new Promise((resolve, reject) => {
    const look = (text) => {
      seen.push(text);
      if (text.includes(marker)) resolve(text);
    };
    createInterface({ input: child.stdout }).on('line', look);
    createInterface({ input: child.stderr }).on('line', look);
    child.on('exit', () => reject(new Error(`${command} did not start: ${seen.join('\n')}`)));
    child.on('error', reject);
  });
  const stop = () =>
    new Promise((resolve) => {
      if (child.exitCode !== null || child.signalCode !== null) return resolve();
      child.on('exit', resolve);
      child.kill('SIGTERM');
      setTimeout(() => child.kill('SIGKILL'), 20_000).unref();
    });
  return { child, line, stop };
}

/** A gateway on a fresh home. */
export class Gateway {
  static async start(config = '', args = []) {
    const gateway = new Gateway();
    gateway.folder = mkdtempSync(join(tmpdir(), 'manyhands-interop-'));
    gateway.home = join(gateway.folder, 'home');
    mkdirSync(gateway.home, { mode: 0o700 });
    writeFileSync(join(gateway.home, 'config.toml'), config);
    gateway.env = { ...process.env, MANYHANDS_HOME: gateway.home };
    const all = ['up', '--no-node', '--listen', '127.0.0.1:0', ...args];
    gateway.daemon = await started(BINARY, all, 'http://', { env: gateway.env });
    gateway.url = /http:\/\/[^\s/]+/.exec(gateway.daemon.line)[0];
    gateway.token = readFileSync(join(gateway.home, 'owner.token'), 'utf8').trim();
    return gateway;
  }

  /** Status and JSON of a request as the owner. */
  async request(method, path, body, headers = {}) {
    const answer = await fetch(this.url + path, {
      method,
      headers: { authorization: `Bearer ${this.token}`, 'content-type': 'application/json', ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    return { status: answer.status, body: text ? JSON.parse(text) : null };
  }

  /** What a tool returns; an error when it fails. */
  async call(tool, args = {}) {
    const { body } = await this.request('POST', `/api/tools/${tool}`, args);
    if (!body.ok) throw new Error(`${tool}: ${JSON.stringify(body)}`);
    return body.result;
  }

  /** Runs the command line on this home. */
  cli(...args) {
    const env = { ...this.env, MANYHANDS_URL: this.url };
    return spawnSync(BINARY, args, { env, encoding: 'utf8', timeout: 120_000 });
  }

  async stop() {
    await this.daemon.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A scripted model server (npm @copilotkit/aimock). */
export class Model {
  /** The body of every request, as the model received it. */
  received = [];

  static async start(fixtures) {
    const model = new Model();
    model.folder = mkdtempSync(join(tmpdir(), 'manyhands-model-'));
    const file = join(model.folder, 'fixtures.json');
    writeFileSync(file, JSON.stringify({ fixtures }));
    const script = join(INTEROP, 'node/node_modules/@copilotkit/aimock/dist/cli.js');
    const args = [script, '--port', '0', '--host', '127.0.0.1', '--strict', '--fixtures', file];
    model.daemon = await started('node', args, 'listening on http://', { cwd: model.folder });
    model.direct = /http:\/\/\S+/.exec(model.daemon.line)[0];
    model.relay = createServer((asked, answer) => model.pass(asked, answer));
    await new Promise((resolve) => model.relay.listen(0, '127.0.0.1', resolve));
    model.url = `http://127.0.0.1:${model.relay.address().port}`;
    return model;
  }

  /** Hands a request on to the model server and remembers its body: the server's own journal drops large ones. */
  async pass(asked, answer) {
    const pieces = [];
    for await (const piece of asked) pieces.push(piece);
    const body = Buffer.concat(pieces);
    if (body.length) this.received.push(JSON.parse(body));
    const headers = { ...asked.headers, host: new URL(this.direct).host };
    const on = request(this.direct + asked.url, { method: asked.method, headers }, (answered) => {
      answer.writeHead(answered.statusCode, answered.headers);
      answered.pipe(answer);
    });
    on.on('error', () => answer.destroy());
    on.end(body);
  }

  async stop() {
    this.relay.close();
    this.relay.closeAllConnections();
    await this.daemon.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** The cases of one package. Each is tried by itself; a failure does not stop the others. */
export function cases(packageName) {
  const manifest = join(PACKAGES, packageName, 'package.json');
  const { version } = JSON.parse(readFileSync(manifest, 'utf8'));
  return async function one(name, run, limit = 120_000) {
    let detail;
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no end within ${limit} ms`)), limit);
    });
    try {
      await Promise.race([run(), late]);
    } catch (error) {
      console.error(`--- ${packageName}: ${name}`, error);
      detail = String(error?.message ?? error).slice(0, 500);
    } finally {
      clearTimeout(timer);
    }
    const line = { package: packageName, version, case: name, ok: detail === undefined, detail };
    process.stdout.write(`${JSON.stringify(line)}\n`);
  };
}
