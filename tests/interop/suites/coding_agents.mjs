// Coding agents that use an agent of the gateway as their model, and run tools of their own on this machine.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Gateway, Model, PACKAGES, cases } from '../gateway.mjs';

const folder = mkdtempSync(join(tmpdir(), 'manyhands-agents-'));
const work = join(folder, 'work');
mkdirSync(work);
const note = join(work, 'note.txt');
writeFileSync(note, 'forty-two is in the file\n');
const call = (name, args) => ({ content: 'Reading.', toolCalls: [{ id: 'call_1', name, arguments: args }] });
const model = await Model.start([
  { match: { hasToolResult: true }, response: { content: 'It says forty-two.' } },
  { match: { userMessage: 'codex reads' }, response: call('exec_command', { cmd: `cat ${note}` }) },
  { match: { userMessage: 'qwen reads' }, response: call('read_file', { file_path: note, absolute_path: note }) },
  { match: {}, response: { content: 'Good morning to all of you.' } },
]);
const gateway = await Gateway.start(`
[models]
default = "there/gpt-4o"
[models.providers.there]
kind = "openai"
base_url = "${model.url}/v1"
`);

/** What a program printed. */
async function run(program, args, env) {
  const file = join(PACKAGES, '.bin', program);
  const child = spawn(file, args, {
    cwd: work,
    env: { PATH: process.env.PATH, HOME: folder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 90_000,
  });
  let printed = '';
  child.stdout.on('data', (data) => (printed += data));
  child.stderr.on('data', (data) => (printed += data));
  const code = await new Promise((resolve) => child.on('close', resolve));
  assert.equal(code, 0, printed);
  return printed;
}

/** The model received what the program read by itself. */
function wasRead() {
  assert.match(JSON.stringify(model.received.at(-1).messages), /forty-two is in the file/);
}

{
  const one = cases('@openai/codex');
  const home = join(folder, '.codex');
  mkdirSync(home);
  writeFileSync(
    join(home, 'config.toml'),
    `model = "agent/main"\nmodel_provider = "here"\n[model_providers.here]\nname = "here"\nbase_url = "${gateway.url}/v1"\nenv_key = "KEY"\nwire_api = "responses"\n`,
  );
  const codex = (prompt) =>
    run('codex', ['exec', '--skip-git-repo-check', prompt], { CODEX_HOME: home, KEY: gateway.token });
  await one('answers', async () => assert.match(await codex('hello there'), /Good morning to all of you\./));
  await one('runs its own tool', async () => {
    assert.match(await codex('codex reads it'), /It says forty-two\./);
    wasRead();
  });
}

{
  const one = cases('@qwen-code/qwen-code');
  const env = { OPENAI_API_KEY: gateway.token, OPENAI_BASE_URL: `${gateway.url}/v1`, OPENAI_MODEL: 'agent/main' };
  const qwen = (prompt) => run('qwen', ['--auth-type', 'openai', '-y', '-p', prompt], env);
  await one('answers', async () => assert.match(await qwen('hello there'), /Good morning to all of you\./));
  await one('runs its own tool', async () => {
    assert.match(await qwen('qwen reads it'), /It says forty-two\./);
    wasRead();
  });
}

await gateway.stop();
await model.stop();
rmSync(folder, { recursive: true, force: true });
