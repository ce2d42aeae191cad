// What the whole page shares: the socket, who is logged in, what waits for the owner, and news.

import type { Approval, Who } from './answers';
import { labelsHere } from './forms';
import { forgetDrafts } from './unsent';
import { announce } from './notify';
import { Refused, get, post, whenLoggedOut, type Body } from './http';
import { forgetToken, token } from './session';
import { CallError, Socket, type Events, type Methods, type State } from './socket';

/** The owner's answer to an approval request. */
export type Decision = Body<'/api/approvals/{id}', 'post'>;

type Toast = { id: number; kind: 'ok' | 'bad'; text: string; hint: string };

class Live {
  state = $state<State>('connecting');
  /** The connection went, and is not back yet, however often it is tried meanwhile. */
  lost = $state(false);
  /** The browser has no network at all. */
  offline = $state(globalThis.navigator?.onLine === false);
  /** Grows with every new connection: what was looked at before may be out of date. */
  epoch = $state(0);
  who = $state.raw<Who | null>(null);
  loggedOut = $state(false);
  approvals = $state.raw<Approval[]>([]);
  toasts = $state<Toast[]>([]);
  #next = 0;
  #looked = false;
  #tabs = new BroadcastChannel('manyhands');

  #socket = new Socket((state) => {
    this.state = state;
    if (state !== 'connecting') this.lost = state === 'waiting';
    if (state === 'open') {
      // The first connection comes with the first look at everything, unless it had to wait: then that look failed.
      if (this.#looked) this.epoch += 1;
      if (!this.who) void this.ask();
      void this.look();
    }
    this.#looked ||= state === 'open' || state === 'waiting';
    if (state === 'refused') void this.ask();
  });

  async start(): Promise<void> {
    whenLoggedOut(() => (this.loggedOut = true));
    window.addEventListener('online', () => {
      this.offline = false;
      this.#socket.hurry();
    });
    window.addEventListener('offline', () => {
      this.offline = true;
      this.#socket.check();
    });
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden) {
        this.#socket.hurry();
        void this.back();
        void this.look();
      }
    });
    window.addEventListener('focus', () => void this.back());
    this.#tabs.onmessage = () => void this.back();
    this.on('chat', (event) => {
      if (event.state === 'paused') void this.look();
    });
    this.on('approvals.changed', () => void this.look());
    // Should a word of it be lost, it is seen a little later.
    setInterval(() => !document.hidden && this.state === 'open' && void this.look(), 30_000);
    await this.ask();
    if (!this.loggedOut) this.#in();
  }

  #in(): void {
    this.#socket.start();
    // Other pages of this browser that were logged out may be so no longer.
    this.#tabs.postMessage('in');
  }

  /** Goes on where somebody has logged in meanwhile, in another page of the same browser. */
  async back(): Promise<void> {
    if (!this.loggedOut) return;
    await this.ask();
    if (!this.loggedOut) this.#in();
  }

  /** Asks who we are; a gateway that does not say lets us find out by what it refuses. */
  async ask(): Promise<void> {
    const sent = token();
    try {
      this.who = await get('/api/session');
      this.loggedOut = false;
    } catch (error) {
      if (!(error instanceof Refused && error.status === 401)) return;
      forgetToken(sent);
      this.loggedOut = true;
    }
  }

  /** The address by which others reach the gateway. */
  get address(): string {
    return (this.who?.url ?? location.origin).replace(/\/$/, '');
  }

  /** Connects now instead of after the wait. */
  retry(): void {
    this.#socket.hurry();
    if (!this.who) void this.ask();
  }

  async logOut(): Promise<void> {
    await post('/api/session/logout').catch(() => undefined);
    forgetToken(token());
    this.#socket.stop();
    forgetDrafts();
    this.loggedOut = true;
  }

  /** Looks at what waits for the owner. */
  async look(): Promise<void> {
    try {
      const { approvals } = await get('/api/approvals');
      // The oldest first: what comes does not push away what somebody is about to press. By the instant: the texts are not equally long.
      const now = approvals.toSorted((one, other) => Date.parse(one.createdAt) - Date.parse(other.createdAt));
      const ids = (all: Approval[]) => all.map((one) => one.id).join();
      if (ids(now) !== ids(this.approvals)) this.approvals = now;
      announce(now);
    } catch {
      // Who may not look at approvals has none.
    }
  }

  async decide(id: string, decision: Decision): Promise<boolean> {
    const done = await this.tried(() => post(`/api/approvals/${encodeURIComponent(id)}`, decision));
    await this.look();
    return done !== undefined;
  }

  call<M extends keyof Methods>(method: M, params: Methods[M]['params'], patience?: number): Promise<Methods[M]['result']> {
    return this.#socket.call(method, params, patience);
  }

  invoke(tool: string, args: Record<string, unknown>, how: (progress: Events['tool.progress']) => void): Promise<unknown> {
    return this.#socket.invoke(tool, args, how);
  }

  on<E extends keyof Events>(event: E, listener: (payload: Events[E]) => void): () => void {
    return this.#socket.on(event, listener);
  }

  /** Shows a message for a moment. */
  say(text: string): void {
    this.#toast('ok', text, '');
  }

  /** Shows an error. `labels` are the form's names of parameters; without them the fields' `name` attributes tell. */
  fail(error: unknown, of?: string, labels?: Record<string, string>): void {
    const { message, hint } = told(error, labels ?? labelsHere());
    this.#toast('bad', of ? `${of}: ${message}` : message, hint);
  }

  /** Runs something; shows its error as a toast and returns undefined if it fails. */
  async tried<T>(what: () => Promise<T>, well?: string, of?: string, labels?: Record<string, string>): Promise<T | undefined> {
    try {
      const done = await what();
      if (well) this.say(well);
      return done;
    } catch (error) {
      this.fail(error, of, labels);
      return undefined;
    }
  }

  dismiss(id: number): void {
    this.toasts = this.toasts.filter((toast) => toast.id !== id);
  }

  #toast(kind: Toast['kind'], text: string, hint: string): void {
    const id = (this.#next += 1);
    this.toasts = [...this.toasts.slice(-3), { id, kind, text, hint }];
    setTimeout(() => this.dismiss(id), kind === 'ok' ? 4_000 : 12_000);
  }
}

/** The message and hint of an error. `labels` are the form's names of parameters, by the gateway's names. */
export function told(error: unknown, labels: Record<string, string> = {}): { message: string; hint: string } {
  if (error instanceof Refused) return { message: error.labelled(labels), hint: error.hint };
  if (error instanceof CallError) {
    const [message = '', hint = ''] = error.message.split('\nhint: ', 2);
    return { message, hint };
  }
  return { message: error instanceof Error ? error.message : String(error), hint: '' };
}

export const live = new Live();
