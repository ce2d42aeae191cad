// Puts a compressed copy beside each file of `dist` that is text; the gateway embeds and sends these.
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';

const dist = new URL('../dist/', import.meta.url);
for (const file of await readdir(dist, { recursive: true })) {
  if (!/\.(html|js|css|svg|json|webmanifest)$/.test(file)) continue;
  const path = new URL(file, dist);
  await writeFile(new URL(`${path.href}.gz`), gzipSync(await readFile(path), { level: 9 }));
}
