// What a page shows in the bar at the top of a phone, in place of its title: one header is enough there.

import type { Snippet } from 'svelte';

class Bar {
  content = $state.raw<Snippet | null>(null);

  /** Shows it until the returned function is called. */
  show(content: Snippet): () => void {
    this.content = content;
    return () => {
      if (this.content === content) this.content = null;
    };
  }
}

export const bar = new Bar();
