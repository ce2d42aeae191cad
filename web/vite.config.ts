import { readFileSync } from 'node:fs';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import type { ProxyOptions } from 'vite';
import { defineConfig } from 'vitest/config';

// For development the page is served here and talks to a real gateway, in the owner's name:
//   MANYHANDS_URL=http://127.0.0.1:7717 MANYHANDS_TOKEN_FILE=~/.manyhands/owner.token npm run dev
function gateway(): Record<string, ProxyOptions> {
  const target = process.env.MANYHANDS_URL ?? 'http://127.0.0.1:7717';
  const file = process.env.MANYHANDS_TOKEN_FILE;
  const headers: Record<string, string> = { origin: target };
  if (file) headers.authorization = `Bearer ${readFileSync(file, 'utf8').trim()}`;
  const one = { target, changeOrigin: true, headers };
  return {
    '/api': one,
    '/ws': { ...one, ws: true },
    '/login': one,
    '/artifacts/': one,
    '/readyz': one,
    '/metrics': one,
  };
}

// The styles of small parts come in one file: a request costs more than the few rules that a page does not use.
const PARTS = /\/src\/parts\/(Arguments|Code|Diagram|Dialog|Diff|Empty|Formula|Head|Markdown|Result|Scroll|VirtualList)\.svelte\?.*type=style/;

export default defineConfig({
  plugins: [svelte()],
  build: {
    target: 'es2022',
    // The gateway's CSP takes no inline script, style or data: script, so everything is a file.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    manifest: true,
    // The guide's pages are rendered by tools/guide.mjs, which finds this script in the manifest.
    rollupOptions: {
      input: { index: 'index.html', guide: 'guide/main.ts' },
      output: { manualChunks: (id) => (PARTS.test(id) ? 'parts' : undefined), onlyExplicitManualChunks: true },
    },
  },
  server: { proxy: gateway() },
  preview: { proxy: gateway() },
  test: { include: ['tests/**/*.test.ts'], environment: 'node', css: true },
});
