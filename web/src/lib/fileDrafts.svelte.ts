// Files of an agent's workspace that are edited in a form: read once, saved together, and never over what somebody else wrote.

import { live } from './live.svelte';
import { CallError } from './socket';

export class FileDraft {
  text = $state('');
  /** What is in the file, as far as is known. */
  saved = $state('');
  /** Whether it was read; whether there is such a file. */
  loaded = $state(false);
  exists = $state(false);
  error = $state('');
  /** Somebody else changed it since it was read; saving again writes over that. */
  overtaken = $state<string | null>(null);
  #version = '';

  constructor(
    readonly agent: string,
    readonly path: string,
  ) {}

  get dirty(): boolean {
    return this.loaded && this.text !== this.saved;
  }

  /** Reads the file; what was typed stays. */
  async load(): Promise<void> {
    const dirty = this.dirty;
    try {
      const read = await live.call('workspace.read', { agentId: this.agent, path: this.path });
      this.#take(read.content, read.version ?? '', true, dirty);
    } catch (error) {
      if (error instanceof CallError && error.code === 404) this.#take('', '', false, dirty);
      else this.error = error instanceof Error ? error.message : String(error);
    }
  }

  #take(content: string, version: string, exists: boolean, dirty: boolean): void {
    if (dirty && version !== this.#version) this.overtaken = content;
    this.#version = version;
    this.saved = content;
    this.exists = exists;
    if (!dirty) this.text = content;
    this.error = '';
    this.loaded = true;
  }

  /** Saves it; false if somebody else changed it meanwhile, which is then shown. */
  async save(): Promise<boolean> {
    const sent = this.text;
    try {
      const done = await live.call('workspace.write', { agentId: this.agent, path: this.path, content: sent, ifVersion: this.#version });
      this.#version = done.version ?? '';
      this.saved = sent;
      this.exists = true;
      this.overtaken = null;
      this.error = '';
      return true;
    } catch (error) {
      if (error instanceof CallError && error.code === 409) await this.load();
      else this.error = error instanceof Error ? error.message : String(error);
      return false;
    }
  }

  discard(): void {
    this.text = this.saved;
    this.overtaken = null;
    this.error = '';
  }
}
