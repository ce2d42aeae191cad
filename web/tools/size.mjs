// How much a browser loads before the first page shows, compressed as the gateway sends it;
// fails above the budget.
import { readdir, readFile, stat } from 'node:fs/promises';

const BUDGET = 100 * 1024;
const GUIDE_BUDGET = 600 * 1024;
const dist = new URL('../dist/', import.meta.url);
const manifest = JSON.parse(await readFile(new URL('.vite/manifest.json', dist), 'utf8'));

/** @type {Map<string, number>} */
const sizes = new Map();
async function weigh(/** @type {string} */ file) {
  if (!sizes.has(file)) sizes.set(file, (await stat(new URL(`${file}.gz`, dist))).size);
  return sizes.get(file) ?? 0;
}

/** Every file that a chunk needs, itself included. */
function needs(/** @type {string} */ key, /** @type {Set<string>} */ files = new Set()) {
  const chunk = manifest[key];
  if (files.has(chunk.file)) return files;
  files.add(chunk.file);
  for (const css of chunk.css ?? []) files.add(css);
  for (const next of chunk.imports ?? []) needs(next, files);
  return files;
}

async function total(/** @type {Set<string>} */ files) {
  let sum = 0;
  for (const file of files) sum += await weigh(file);
  return sum;
}

const kib = (/** @type {number} */ bytes) => `${(bytes / 1024).toFixed(1)} KiB`.padStart(10);
const entry = needs('index.html');
const pages = Object.entries(manifest).filter(([, chunk]) => chunk.isDynamicEntry);
console.log('compressed sizes');
console.log(`${kib(await total(entry))}  shell`);
// A page and its texts in one language are loaded at once; libraries of a page, such as the terminal, and what appears only
// after something was done, when they are used.
const isPage = (/** @type {string} */ key) => /^(src\/pages\/[^/]+\.svelte|_Chat-.*\.js|src\/pages\/chat\/Chat\.svelte)$/.test(key);
let [page, texts, shared] = [0, 0, 0];
for (const [key] of pages) {
  const extra = new Set([...needs(key)].filter((file) => !entry.has(file)));
  const bytes = await total(extra);
  if (isPage(key)) page = Math.max(page, bytes);
  if (key === 'src/texts/en/first.ts') shared = bytes;
  if (/^src\/texts\/en\/\w+\.json$/.test(key)) texts = Math.max(texts, bytes);
  if (!key.startsWith('src/texts/')) console.log(`${kib(bytes)}  ${key}`);
}
console.log(`${kib(shared)}  texts of the shell`);
console.log(`${kib(texts)}  texts of a page, at most`);
const first = (await weigh('index.html')) + (await total(entry)) + shared + page + texts;
console.log(`${kib(first)}  first load: the shell, the largest page and their texts (budget ${kib(BUDGET).trim()})`);

// The guide is not part of any page of the gateway, but of the program.
const chapters = (await readdir(new URL('docs/', dist), { recursive: true })).filter((file) => file.endsWith('.gz'));
const weights = await Promise.all(chapters.map(async (file) => (await stat(new URL(`docs/${file}`, dist))).size));
const guide = weights.reduce((sum, bytes) => sum + bytes, 0);
console.log(`${kib(guide)}  the guide (budget ${kib(GUIDE_BUDGET).trim()})`);
if (guide > GUIDE_BUDGET) {
  console.error('the guide is over its budget');
  process.exitCode = 1;
}
if (first > BUDGET) {
  console.error('the first load is over its budget');
  process.exitCode = 1;
}
