// Files between this browser and a node, through the node's own tools: each step is checked and recorded like any call.

import '../../texts/use/nodes';
import { tool } from '../../lib/http';
import { t } from '../../lib/i18n';
import { quoted } from '../../lib/snippets';

/** The largest file that is worth it: what is larger is copied with `manyhands cp`. */
export const LARGEST = 64 * 1024 * 1024;
/** Text up to this size is written in one call. */
const TEXT = 512 * 1024;
/** Bytes per call. An argument of a program is limited to 128 KiB on Linux, its output here to 200,000 characters. */
const UP = 90_000;
const DOWN = 135_000;

type Ran = { exitCode: number | null; output: string };
export type Progress = (done: number, total: number | null) => void;

async function sh(node: string, command: string): Promise<string> {
  const ran = await tool<Ran>(`${node}__Bash`, { command, timeout: 120_000 });
  if (ran.exitCode !== 0) throw new Error(ran.output.trim() || t('nodes.commandFailed', { code: String(ran.exitCode) }));
  return ran.output;
}

/** The text of bytes that are text, or null. */
export function asText(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

export function base64(bytes: Uint8Array): string {
  let binary = '';
  for (let at = 0; at < bytes.length; at += 8_192) binary += String.fromCharCode(...bytes.subarray(at, at + 8_192));
  return btoa(binary);
}

/** Writes a file of this browser on a node. It appears whole or not at all. */
export async function upload(node: string, path: string, file: Blob, how: Progress, gone: AbortSignal): Promise<void> {
  if (file.size > LARGEST) throw new Error(t('nodes.tooLarge'));
  const bytes = new Uint8Array(await file.arrayBuffer());
  const text = bytes.length <= TEXT ? asText(bytes) : null;
  if (text !== null) {
    await tool(`${node}__Write`, { path, content: text });
    return how(bytes.length, bytes.length);
  }
  const partial = `${path}.part-${Math.random().toString(36).slice(2, 8)}`;
  try {
    for (let at = 0; at < bytes.length; at += UP) {
      gone.throwIfAborted();
      how(at, bytes.length);
      await sh(node, `printf %s ${base64(bytes.subarray(at, at + UP))} | base64 -d ${at ? '>>' : '>'} ${quoted(partial)}`);
    }
    const written = Number(await sh(node, `wc -c < ${quoted(partial)}`));
    if (written !== bytes.length) throw new Error(t('nodes.incomplete'));
    await sh(node, `mv -f ${quoted(partial)} ${quoted(path)}`);
  } catch (error) {
    await sh(node, `rm -f ${quoted(partial)}`).catch(() => undefined);
    throw error;
  }
  how(bytes.length, bytes.length);
}

/** Reads a file of a node. */
export async function fetchFile(node: string, path: string, how: Progress, gone: AbortSignal): Promise<Blob> {
  const file = quoted(path);
  const total = Number(await sh(node, `wc -c < ${file}`));
  if (total > LARGEST) throw new Error(t('nodes.tooLarge'));
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let done = 0;
  while (done < total) {
    gone.throwIfAborted();
    how(done, total);
    const text = await sh(node, `tail -c +${done + 1} ${file} | head -c ${DOWN} | base64`);
    const part = Uint8Array.from(atob(text.replace(/\s/g, '')), (letter) => letter.charCodeAt(0));
    if (!part.length) throw new Error(t('nodes.incomplete'));
    parts.push(part);
    done += part.length;
  }
  how(total, total);
  return new Blob(parts);
}

/** Gives a file to the person at the browser. */
export function save(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
