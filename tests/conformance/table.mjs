// The official suite against the fixture itself and through the gateway, side by side.
// What the fixture passes has to pass through the gateway too.
//
//   node table.mjs SUITE_FOLDER VERSION TITLE FIXTURE_URL GATEWAY_URL
//   node table.mjs SUITE_FOLDER VERSION TITLE all|named GATEWAY_URL SCENARIO...
//
// Without a fixture of that version the scenarios that are named have to pass, whether all are shown or not.

import { execFile } from 'node:child_process';
import { join } from 'node:path';

const [suite, version, title, fixture, gateway, ...named] = process.argv.slice(2);
const bin = join(suite, 'node_modules', '.bin');

/** What came of each scenario, and what was said of those that failed. */
function run(url) {
  const args = [join(bin, 'conformance'), 'server', '--url', url, '--requirements', version];
  return new Promise((resolve) => {
    execFile(join(bin, 'node'), args, { maxBuffer: 64 * 1024 * 1024 }, (_, stdout, stderr) => {
      const said = `${stdout}\n${stderr}`;
      const results = new Map();
      for (const [, mark, name, passed, failed] of said.matchAll(/^([✓✗]) ([\w/-]+): (\d+) passed, (\d+) failed/gm)) {
        results.set(name, { ok: mark === '✓', passed: Number(passed), of: Number(passed) + Number(failed) });
      }
      const unscored = new Set([...said.matchAll(/^ {2}[✓✗] ([\w/-]+) \(/gm)].map(([, name]) => name));
      resolve({ results, unscored, said });
    });
  });
}

const shown = (result) => (result ? `${result.ok ? 'ok' : 'FAILED'} ${result.passed}/${result.of}` : '');
const [direct, through] = [fixture.startsWith('http') ? await run(fixture) : undefined, await run(gateway)];
const wanted = (name) => (direct ? direct.results.get(name)?.ok : named.includes(name));
const names = [...(direct ?? through).results.keys()].filter((name) => fixture !== 'named' || named.includes(name));
const scored = names.filter((name) => !through.unscored.has(name));
const count = (of) => `${scored.filter((name) => of.results.get(name)?.ok).length}/${scored.length}`;
const lost = [...new Set([...names, ...named])].filter((name) => wanted(name) && !through.results.get(name)?.ok);

console.log(`\n${title} (${version})`);
console.log(`${'scenario'.padEnd(50)}${'fixture'.padEnd(15)}through us`);
for (const name of names) {
  const label = name + (through.unscored.has(name) ? ' (not scored)' : '');
  console.log(`${label.padEnd(50)}${(direct ? shown(direct.results.get(name)) : '-').padEnd(15)}${shown(through.results.get(name))}`);
}
console.log(`${'required'.padEnd(50)}${(direct ? count(direct) : '-').padEnd(15)}${count(through)}`);
if (lost.length > 0 || names.length === 0) {
  console.log(through.said);
  console.log(`lost on the way through the gateway: ${lost.join(', ') || 'everything'}`);
  process.exitCode = 1;
}
