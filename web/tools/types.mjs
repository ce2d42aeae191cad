// Makes the types of the API from the documents that the gateway is made of:
// docs/openapi.json for HTTP, docs/protocol.json for the socket. With --check nothing is
// written, and it fails when what is there is out of date.
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { compile } from 'json-schema-to-typescript';
import openapiTS, { astToString } from 'openapi-typescript';

const docs = new URL('../../docs/', import.meta.url);
const out = new URL('../src/generated/', import.meta.url);
const NOTE = (/** @type {string} */ from) => `// Made from docs/${from} by \`npm run types\`; not to be changed by hand.\n`;

/** The tools that the page calls by name. */
const CALLED = ['capabilities_discover', 'contacts_send', 'gsv__ReadFile', 'gsv__WriteFile', 'todo_update'];

async function http() {
  const document = JSON.parse(await readFile(new URL('openapi.json', docs), 'utf8'));
  // Tools are known at run time, by their schemas: types are made of those that the page itself calls.
  const kept = Object.entries(document.paths).filter(([path]) => !/^\/api\/tools\/[^{]/.test(path) || CALLED.includes(path.slice('/api/tools/'.length)));
  document.paths = Object.fromEntries(kept);
  return NOTE('openapi.json') + astToString(await openapiTS(document));
}

async function socket() {
  const schema = JSON.parse(await readFile(new URL('protocol.json', docs), 'utf8'));
  // Whatever else comes is left alone, and does not make every field `unknown`.
  const text = await compile(schema, 'Protocol', {
    additionalProperties: false,
    bannerComment: NOTE('protocol.json').trim(),
    format: false,
  });
  return text;
}

const check = process.argv.includes('--check');
let stale = false;
/** @type {[string, () => Promise<string>][]} */
const all = [
  ['api.d.ts', http],
  ['protocol.d.ts', socket],
];
for (const [name, make] of all) {
  const file = fileURLToPath(new URL(name, out));
  const text = await make();
  if (!check) {
    await writeFile(file, text);
  } else if ((await readFile(file, 'utf8').catch(() => '')) !== text) {
    console.error(`src/generated/${name} is out of date: npm run types`);
    stale = true;
  }
}
process.exitCode = stale ? 1 : 0;
