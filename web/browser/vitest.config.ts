import { defineConfig } from 'vitest/config';

// The suite drives the real binary in a real browser: two files at a time, so that a small machine keeps up.
// `--mode screenshots` takes pictures of every page instead.
export default defineConfig(({ mode }) => ({
  test: {
    include: [mode === 'screenshots' ? 'browser/screenshots.ts' : 'browser/*.test.ts'],
    environment: 'node',
    globalSetup: 'browser/found.ts',
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 90_000,
    hookTimeout: 90_000,
    expect: { poll: { timeout: 20_000, interval: 50 } },
  },
}));
