// Looks once for what the suite needs: the binary that was built, and a Chromium.

import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    binary: string;
    chromium: string;
  }
}

export default function find(project: TestProject): void {
  const binary = process.env.MANYHANDS_BIN ?? fileURLToPath(new URL('../../target/debug/manyhands', import.meta.url));
  if (!existsSync(binary)) throw new Error(`there is no ${binary}; build it with \`cargo build -p manyhands\`, or say where it is in MANYHANDS_BIN`);
  const chromium = execFileSync(fileURLToPath(new URL('../../tools/chromium', import.meta.url)), { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();
  project.provide('binary', binary);
  project.provide('chromium', chromium);
}
