// Something that is fetched and shown: loading, there, or why not. It is fetched anew when what it
// depends on changes, and an old answer that comes late is left alone.

import { untrack } from 'svelte';
import { live, told } from './live.svelte';

export class Ask<T> {
  value = $state.raw<T | undefined>(undefined);
  error = $state.raw<{ message: string; hint: string } | null>(null);
  busy = $state(false);
  #turn = 0;

  /**
   * `fetch` is called in an effect: what it reads before its first await is what it depends on. `of` names
   * what is asked for: the answer to another question is not shown while, or because, there is none to this one.
   */
  constructor(
    private readonly fetch: () => Promise<T> | null,
    of?: () => string,
  ) {
    let asked = of && untrack(of);
    $effect(() => {
      void live.epoch;
      const now = of?.();
      if (now !== asked) {
        asked = now;
        this.value = undefined;
        this.error = null;
      }
      this.#run(this.fetch());
    });
  }

  /** Fetches again. */
  again(): Promise<void> {
    return this.#run(this.fetch());
  }

  async #run(asked: Promise<T> | null): Promise<void> {
    const turn = (this.#turn += 1);
    if (!asked) return;
    this.busy = true;
    try {
      const value = await asked;
      if (turn !== this.#turn) return;
      this.value = value;
      this.error = null;
    } catch (error) {
      if (turn === this.#turn) this.error = told(error);
    } finally {
      if (turn === this.#turn) this.busy = false;
    }
  }
}

/** Calls while the page is looked at, every so many milliseconds. */
export function every(ms: number, then: () => void): void {
  $effect(() => {
    const timer = setInterval(() => !document.hidden && then(), ms);
    return () => clearInterval(timer);
  });
}
