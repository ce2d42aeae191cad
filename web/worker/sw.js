/// <reference lib="webworker" />
// The service worker: keeps the page itself, so that it opens without a network and says so. Answers of the API are
// never stored, nor the guide or artifacts: only what the build lists is touched, everything else goes past this.
//
// `tools/worker.mjs` replaces the two values below when the page is built. Another build is another worker; the page
// it replaces keeps working, because the files of the version before are kept until the next one comes.

const worker = /** @type {ServiceWorkerGlobalScope} */ (/** @type {unknown} */ (self));
const VERSION = 'VERSION';
/** @type {string[]} */
const FILES = [];
const PREFIX = 'page-';
const CACHE = PREFIX + VERSION;
const SHELL = '/';
/** Addresses at which the gateway serves the page. */
const ENTRIES = new Set(['/', '/login']);

worker.addEventListener('install', (event) => {
  const fill = async () => {
    const cache = await caches.open(CACHE);
    // Hashed files may come from the browser's own cache; the entry must be the one of this version.
    await cache.addAll([new Request(SHELL, { cache: 'reload' }), ...FILES]);
    await worker.skipWaiting();
  };
  event.waitUntil(fill());
});

worker.addEventListener('activate', (event) => {
  const clean = async () => {
    const all = (await caches.keys()).filter((name) => name.startsWith(PREFIX) && name !== CACHE);
    // The newest of the others belongs to pages that are still open.
    await Promise.all(all.slice(0, -1).map((name) => caches.delete(name)));
    await worker.clients.claim();
  };
  event.waitUntil(clean());
});

worker.addEventListener('fetch', (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== 'GET' || url.origin !== worker.location.origin) return;
  if (request.mode === 'navigate') {
    if (ENTRIES.has(url.pathname)) event.respondWith(entry(request));
  } else if (FILES.includes(url.pathname) || url.pathname.startsWith('/assets/')) {
    event.respondWith(file(request));
  }
});

/** The page as the gateway has it; what was stored where there is no gateway. @param {Request} request */
async function entry(request) {
  try {
    const response = await fetch(request);
    // A proxy in front of a gateway that is down answers for it.
    if (![502, 503, 504].includes(response.status)) return response;
  } catch {
    // No network, or nobody there.
  }
  return (await caches.match(SHELL, { cacheName: CACHE, ignoreVary: true })) ?? Response.error();
}

/** A file whose name contains its hash, of this version or of the one before. @param {Request} request */
async function file(request) {
  return (await caches.match(request, { ignoreVary: true })) ?? fetch(request);
}
