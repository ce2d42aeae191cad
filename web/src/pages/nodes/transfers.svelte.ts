// Files on their way. They go on while other pages are looked at.

import { live, told } from '../../lib/live.svelte';

export type Transfer = { id: number; source: string; destination: string; done: number; total: number | null; began: number; ms: number; state: 'running' | 'ok' | 'error'; why: string };

const MOST = 50;
const all = $state<Transfer[]>([]);
let next = 0;

/** The latest first. */
export const transfers = {
  get all(): Transfer[] {
    return all;
  },
  /** Leaves out those that ended. */
  clear(): void {
    all.splice(0, all.length, ...all.filter((one) => one.state === 'running'));
  },
};

/** Carries a file over; one that was broken off goes on where it stopped. */
export async function carry(source: string, destination: string): Promise<void> {
  all.unshift({ id: (next += 1), source, destination, done: 0, total: null, began: performance.now(), ms: 0, state: 'running', why: '' });
  all.length = Math.min(all.length, MOST);
  const one = all[0];
  if (!one) return;
  try {
    await live.invoke('gsv__Transfer', { source, destination }, (how) => {
      one.done = how.done;
      one.total = how.total ?? null;
      one.ms = performance.now() - one.began;
    });
    one.state = 'ok';
    if (one.total !== null) one.done = one.total;
  } catch (error) {
    one.state = 'error';
    const { message, hint } = told(error);
    one.why = [message, hint].filter(Boolean).join('; ');
  }
  one.ms = performance.now() - one.began;
}
