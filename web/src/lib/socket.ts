// The socket to the gateway: one connection that comes back by itself, calls with answers, and events.
// It always talks to where the page came from.

import { t } from './i18n';
import type { Protocol } from '../generated/protocol';
import { Backoff } from './backoff';
import { randomId } from './browser';
import { token } from './session';

export type Methods = Protocol['methods'];
export type Events = Protocol['events'];

/** How the connection stands. `refused` is final: the gateway does not know who asks. */
export type State = 'connecting' | 'open' | 'waiting' | 'refused' | 'closed';

/** A call that was refused or not answered. */
export class CallError extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly details?: unknown,
    /** Whether the same call may work later. */
    readonly retryable = false,
  ) {
    super(message);
  }
}

/** What a socket needs of the world around it; tests bring their own. */
export type World = {
  open: () => Pick<WebSocket, 'send' | 'close' | 'onopen' | 'onmessage' | 'onclose' | 'onerror'>;
  later: (then: () => void, ms: number) => () => void;
  random: () => number;
  id: () => string;
  /** The session's token, as it is now. */
  token: () => string | null;
};

/** The gateway closes with this number when it does not know the asker. */
const UNKNOWN = 4001;
/** How long an answer may take unless said. */
const PATIENCE = 60_000;
/** How often a quiet connection is tried, and how long that may take. */
const QUIET = 25_000;
const PULSE = 10_000;
/** The most calls that wait for an answer. */
const MOST = 256;

type Waiting = { done: (value: unknown) => void; fail: (error: CallError) => void; stop: () => void };
type Frame = {
  type?: string;
  id?: string;
  ok?: boolean;
  payload?: unknown;
  error?: { code?: number; message?: string; details?: unknown; retryable?: boolean };
  event?: string;
};

/** The browser's own. */
export function browser(): World {
  return {
    open: () => new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/ws`),
    later: (then, ms) => {
      const timer = setTimeout(then, ms);
      return () => clearTimeout(timer);
    },
    random: Math.random,
    id: randomId,
    token,
  };
}

export class Socket {
  #world: World;
  #backoff: Backoff;
  #wire: ReturnType<World['open']> | null = null;
  #waiting = new Map<string, Waiting>();
  #listeners = new Map<string, Set<(payload: never) => void>>();
  #timer: (() => void) | null = null;
  #state: State = 'closed';
  #onState: (state: State) => void;

  constructor(onState: (state: State) => void, world: World = browser()) {
    this.#world = world;
    this.#onState = onState;
    this.#backoff = new Backoff(300, 5_000, world.random);
  }

  get state(): State {
    return this.#state;
  }

  /** Connects, and stays connected. */
  start(): void {
    if (this.#state === 'closed' || this.#state === 'refused') this.#connect();
  }

  /** Tries now instead of after the wait, for instance when the network is back, and soon again where that fails. */
  hurry(): void {
    this.#backoff.reset();
    if (this.#state === 'waiting') this.#connect();
  }

  /** Finds out now whether the connection still stands, for instance when the network changed. */
  check(): void {
    if (this.#state !== 'open' || !this.#wire) return;
    this.#timer?.();
    this.#probe(this.#wire);
  }

  /** Ends the connection for good. */
  stop(): void {
    this.#drop('closed');
  }

  /** Listens; gives back how to stop. */
  on<E extends keyof Events>(event: E, listener: (payload: Events[E]) => void): () => void {
    const all = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, all.add(listener as (payload: never) => void));
    return () => all.delete(listener as (payload: never) => void);
  }

  /** Calls a method. Fails at once when there is no connection: whoever asks decides whether to ask again. */
  call<M extends keyof Methods>(method: M, params: Methods[M]['params'], patience = PATIENCE): Promise<Methods[M]['result']> {
    if (this.#state !== 'open') return Promise.reject(new CallError(503, t('common.notConnected'), undefined, true));
    return this.#ask(method, params, patience) as Promise<Methods[M]['result']>;
  }

  /** Calls a tool and tells how far it is. */
  invoke(tool: string, args: Record<string, unknown>, how: (progress: Events['tool.progress']) => void, patience = 3_600_000): Promise<unknown> {
    if (this.#state !== 'open') return Promise.reject(new CallError(503, t('common.notConnected'), undefined, true));
    const id = this.#world.id();
    const off = this.on('tool.progress', (progress) => progress.requestId === id && how(progress));
    return this.#ask('tool.invoke', { tool, args, progress: true }, patience, id).finally(off);
  }

  #ask(method: string, params: unknown, patience: number, id = this.#world.id()): Promise<unknown> {
    if (this.#waiting.size >= MOST) return Promise.reject(new CallError(503, t('common.tooManyCalls'), undefined, true));
    return new Promise((done, fail) => {
      const late = () => this.#settle(id)?.fail(new CallError(504, t('common.timedOut', { method }), undefined, true));
      const stop = this.#world.later(late, patience);
      this.#waiting.set(id, { done, fail, stop });
      this.#wire?.send(JSON.stringify({ type: 'req', id, method, params }));
    });
  }

  #settle(id: string): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    waiting?.stop();
    return waiting;
  }

  #set(state: State): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#onState(state);
  }

  #connect(): void {
    this.#drop('connecting');
    const wire = this.#world.open();
    this.#wire = wire;
    // Some networks swallow the first word: whoever is not heard in time knocks again.
    this.#timer = this.#world.later(() => this.#wire === wire && this.#retry(), PULSE);
    wire.onopen = () => {
      this.#timer?.();
      void this.#greet(wire);
    };
    wire.onmessage = (message) => this.#hear(wire, message.data as unknown);
    wire.onclose = (event) => {
      if (this.#wire !== wire) return;
      if (event.code === UNKNOWN) this.#drop('refused');
      else this.#retry();
    };
  }

  async #greet(wire: ReturnType<World['open']>): Promise<void> {
    const client = { id: 'page', mode: 'client' as const, platform: 'web', version: '1' };
    const token = this.#world.token();
    const params: Methods['connect']['params'] = { client, minProtocol: 1, maxProtocol: 1, ...(token === null ? {} : { auth: { token } }) };
    try {
      await this.#ask('connect', params, PULSE);
    } catch (error) {
      if (this.#wire !== wire) return;
      if (error instanceof CallError && (error.code === 401 || error.code === 403)) this.#drop('refused');
      else this.#retry();
      return;
    }
    if (this.#wire !== wire) return;
    this.#backoff.reset();
    this.#set('open');
    this.#pulse(wire);
  }

  /** A connection that died without a word is found by asking. */
  #pulse(wire: ReturnType<World['open']>): void {
    this.#timer?.();
    this.#timer = this.#world.later(() => this.#probe(wire), QUIET);
  }

  #probe(wire: ReturnType<World['open']>): void {
    this.#ask('sessions.list', { limit: 1 }, PULSE).then(
      () => this.#wire === wire && this.#pulse(wire),
      (error: unknown) => {
        if (this.#wire !== wire) return;
        // A refusal is an answer.
        if (error instanceof CallError && error.code < 500) this.#pulse(wire);
        else this.#retry();
      },
    );
  }

  #retry(): void {
    this.#drop('waiting');
    this.#timer = this.#world.later(() => this.#connect(), this.#backoff.next());
  }

  #drop(state: State): void {
    const wire = this.#wire;
    this.#wire = null;
    this.#timer?.();
    this.#timer = null;
    if (wire) {
      wire.onopen = wire.onmessage = wire.onclose = wire.onerror = null;
      wire.close();
    }
    const left = [...this.#waiting.values()];
    this.#waiting.clear();
    this.#set(state);
    for (const one of left) {
      one.stop();
      one.fail(new CallError(503, t('common.connectionLost'), undefined, true));
    }
  }

  #hear(wire: ReturnType<World['open']>, data: unknown): void {
    if (this.#wire !== wire || typeof data !== 'string') return;
    let frame: Frame;
    try {
      frame = JSON.parse(data) as Frame;
    } catch {
      return;
    }
    if (typeof frame !== 'object' || frame === null) return;
    if (frame.type === 'res' && frame.id) {
      const waiting = this.#settle(frame.id);
      if (frame.ok) waiting?.done(frame.payload);
      else {
        const { code = 500, message = t('common.noReason'), details, retryable } = frame.error ?? {};
        waiting?.fail(new CallError(code, message, details, retryable));
      }
    } else if (frame.type === 'evt' && frame.event) {
      for (const listener of this.#listeners.get(frame.event) ?? []) listener(frame.payload as never);
    }
  }
}
