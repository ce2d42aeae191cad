// Texts of files that were changed and are not kept yet, for as long as the page is open: by agent and file.

/** What was typed, and the version of the file that it was begun from. */
export type Draft = { text: string; base: string };

/** How many are held, and how long they are together: the oldest go first. */
const MOST = 100;
const LONGEST = 20_000_000;

export class Drafts {
  #all = new Map<string, { agent: string; file: string; draft: Draft }>();

  get size(): number {
    return this.#all.size;
  }

  get(agent: string, file: string): Draft | undefined {
    return this.#all.get(key(agent, file))?.draft;
  }

  put(agent: string, file: string, draft: Draft): void {
    this.drop(agent, file);
    this.#all.set(key(agent, file), { agent, file, draft });
    let length = 0;
    for (const one of this.#all.values()) length += one.draft.text.length;
    for (const [oldest, one] of this.#all) {
      if (this.#all.size <= MOST && length <= LONGEST) break;
      if (this.#all.size === 1) break;
      this.#all.delete(oldest);
      length -= one.draft.text.length;
    }
  }

  drop(agent: string, file: string): void {
    this.#all.delete(key(agent, file));
  }

  /** The files of an agent that have one. */
  of(agent: string): Set<string> {
    return new Set([...this.#all.values()].filter((one) => one.agent === agent).map((one) => one.file));
  }
}

const key = (agent: string, file: string) => JSON.stringify([agent, file]);

export const drafts = new Drafts();
