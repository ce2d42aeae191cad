// Writes dist/sw.js: the service worker with the list of the page's files. Its name is fixed, so its contents must change
// with every build; the version is the hash of everything it lists.
import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';

const dist = new URL('../dist/', import.meta.url);
/** What is larger, such as drawings of diagrams, is stored by the browser once it is used. */
const LARGEST = 200 * 1024;

const manifest = JSON.parse(await readFile(new URL('.vite/manifest.json', dist), 'utf8'));
/** Files of the guide alone: it is not part of the page. */
const guide = new Set([manifest['guide/main.ts'].file, ...(manifest['guide/main.ts'].css ?? [])]);
const assets = (await readdir(new URL('assets/', dist))).map((name) => `assets/${name}`).filter((file) => !guide.has(file));
const root = (await readdir(dist)).filter((name) => /\.(svg|png|webmanifest)$/.test(name));

const hash = createHash('sha256');
hash.update(await readFile(new URL('index.html', dist)));
/** @type {string[]} */
const files = [];
for (const file of [...assets, ...root].filter((name) => !/\.(gz|map)$/.test(name)).sort()) {
  const bytes = await readFile(new URL(file, dist));
  if (bytes.length > LARGEST) continue;
  hash.update(file).update(bytes);
  files.push(`/${file}`);
}
const source = await readFile(new URL('../worker/sw.js', import.meta.url), 'utf8');
hash.update(source);
const made = source.replace("'VERSION'", () => JSON.stringify(hash.digest('hex').slice(0, 16))).replace('const FILES = [];', () => `const FILES = ${JSON.stringify(files)};`);
if (!made.includes(JSON.stringify(files))) throw new Error('worker/sw.js has no list to fill');
await writeFile(new URL('sw.js', dist), made);
console.log(`service worker: ${files.length} files`);
