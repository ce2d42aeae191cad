// Files on their way. They go on while other pages are shown.

import { live, told } from '../../lib/live.svelte';
import { fetchFile, save, upload as send, type Progress } from './bytes';

export type Transfer = {
  id: number;
  kind: 'copy' | 'upload' | 'download';
  source: string;
  destination: string;
  done: number;
  total: number | null;
  ms: number;
  state: 'running' | 'ok' | 'error' | 'stopped';
  why: string;
  /** Present if it can be stopped. */
  stop?: () => void;
  again?: () => void;
};

const MOST = 50;
const all = $state<Transfer[]>([]);
let next = 0;

/** The latest first. */
export const transfers = {
  get all(): Transfer[] {
    return all;
  },
  /** Removes those that ended. */
  clear(): void {
    all.splice(0, all.length, ...all.filter((one) => one.state === 'running'));
  },
};

type Begun = Pick<Transfer, 'kind' | 'source' | 'destination' | 'again' | 'stop'>;

async function run(begun: Begun, act: (how: Progress) => Promise<unknown>, gone?: AbortSignal): Promise<boolean> {
  all.unshift({ ...begun, id: (next += 1), done: 0, total: null, ms: 0, state: 'running', why: '' });
  all.length = Math.min(all.length, MOST);
  const one = all[0];
  if (!one) return false;
  const began = performance.now();
  try {
    await act((done, total) => {
      one.done = done;
      one.total = total;
      one.ms = performance.now() - began;
    });
    one.state = 'ok';
    if (one.total !== null) one.done = one.total;
  } catch (error) {
    one.state = gone?.aborted ? 'stopped' : 'error';
    const { message, hint } = told(error);
    if (one.state === 'error') one.why = [message, hint].filter(Boolean).join('\n');
  }
  one.ms = performance.now() - began;
  return one.state === 'ok';
}

/** Copies a file between machines and workspaces; one that was interrupted is resumed. */
export function copyFile(source: string, destination: string): Promise<boolean> {
  return run({ kind: 'copy', source, destination, again: () => void copyFile(source, destination) }, (how) => live.invoke('gsv__Transfer', { source, destination }, (progress) => how(progress.done, progress.total ?? null)));
}

/** Uploads a file into a folder of a node. */
export function upload(node: string, folder: string, file: File): Promise<boolean> {
  const path = `${folder.replace(/\/+$/, '')}/${file.name}`;
  const stop = new AbortController();
  return run({ kind: 'upload', source: file.name, destination: `${node}:${path}`, stop: () => stop.abort(), again: () => void upload(node, folder, file) }, (how) => send(node, path, file, how, stop.signal), stop.signal);
}

/** Downloads a file of a node. */
export function download(node: string, path: string): Promise<boolean> {
  const name = path.split('/').pop() || 'file';
  const stop = new AbortController();
  const act = async (how: Progress) => save(await fetchFile(node, path, how, stop.signal), name);
  return run({ kind: 'download', source: `${node}:${path}`, destination: name, stop: () => stop.abort(), again: () => void download(node, path) }, act, stop.signal);
}
