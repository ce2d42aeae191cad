import { defineConfig } from 'vitest/config';

// The suite drives the real binary in a real browser: two files at a time, so that a small machine keeps up.
// `--mode screenshots` takes pictures of every page instead, and `--mode load` measures how long they take to come.
const ONE: Record<string, string> = { screenshots: 'browser/screenshots.ts', load: 'browser/load.ts' };

export default defineConfig(({ mode }) => ({
  test: {
    include: [ONE[mode] ?? 'browser/*.test.ts'],
    environment: 'node',
    globalSetup: 'browser/found.ts',
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 45_000, interval: 50 } },
  },
}));
