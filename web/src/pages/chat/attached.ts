// Files that are sent along: the message names them and their artifacts in lines of its own, which models read.

import type { Attached } from './items';

const LINE = /^\[attached: (.+), artifact ([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\]$/;

/** The message with the files that go along. */
export function withFiles(text: string, files: Attached[]): string {
  const lines = files.map((file) => `[attached: ${file.name}, artifact ${file.id}]`).join('\n');
  return [text.trim(), lines].filter(Boolean).join('\n\n');
}

/** The words of a message, and the files that its last lines name. */
export function artifactsIn(message: string): { text: string; files: Attached[] } {
  const lines = message.split('\n');
  const files: Attached[] = [];
  while (lines.length) {
    const [, name, id] = LINE.exec(lines.at(-1)?.trim() ?? '') ?? [];
    if (!name || !id) break;
    files.unshift({ name, id });
    lines.pop();
  }
  return files.length ? { text: lines.join('\n').trimEnd(), files } : { text: message, files };
}
