// Requests to the gateway. Every answer is an envelope: what came of it, or why not and what to do.

import type { components, paths } from '../generated/api';

export type Envelope = components['schemas']['Envelope'];
export type Content = NonNullable<Envelope['content']>[number];

/** The body that an operation takes, as the gateway's document has it. */
export type Body<P extends keyof paths, M extends keyof paths[P]> = paths[P][M] extends {
  requestBody?: { content: { 'application/json': infer B } };
}
  ? B
  : never;

/** Why a request gave nothing. */
export class Refused extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly hint: string,
    readonly problems: { parameter: string; message: string }[],
    readonly details: Record<string, unknown>,
    readonly status: number,
  ) {
    super(message);
  }
}

/** The gateway says its advice on a line of its own. */
const HINT = '\nhint: ';

function refusal(envelope: Envelope, status: number): Refused {
  const [message = '', hint = ''] = (envelope.error ?? `the gateway answered ${status}`).split(HINT, 2);
  const problems = (envelope.problems ?? []) as { parameter: string; message: string }[];
  return new Refused(envelope.code ?? 'failed', message, hint, problems, (envelope.details ?? {}) as Record<string, unknown>, status);
}

let onLoggedOut: () => void = () => undefined;

/** Says what happens when the gateway no longer knows who asks. */
export function whenLoggedOut(then: () => void): void {
  onLoggedOut = then;
}

type Options = { query?: Record<string, string | number | boolean | undefined>; body?: unknown; raw?: Blob; signal?: AbortSignal };

function address(path: string, query: Options['query']): string {
  const all = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== '');
  const search = new URLSearchParams(all.map(([key, value]) => [key, String(value)])).toString();
  return search ? `${path}?${search}` : path;
}

/** Asks, and gives the whole envelope of an answer that is good. */
export async function envelope(method: string, path: string, options: Options = {}): Promise<Envelope> {
  const { query, body, raw, signal } = options;
  const headers: Record<string, string> = { accept: 'application/json' };
  if (body !== undefined) headers['content-type'] = 'application/json';
  let response: Response;
  try {
    response = await fetch(address(path, query), {
      method,
      headers,
      body: raw ?? (body === undefined ? null : JSON.stringify(body)),
      signal: signal ?? null,
      credentials: 'same-origin',
      redirect: 'error',
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refused('unavailable', 'the gateway cannot be reached', 'is `manyhands up` running?', [], {}, 0);
  }
  const text = await response.text();
  let answer: Envelope;
  try {
    answer = JSON.parse(text) as Envelope;
  } catch {
    answer = { ok: response.ok, ...(response.ok ? { result: text } : { error: `the gateway answered ${response.status}` }) };
  }
  if (response.status === 401) onLoggedOut();
  if (!answer.ok) throw refusal(answer, response.status);
  return answer;
}

const result = async <T>(method: string, path: string, options?: Options) => (await envelope(method, path, options)).result as T;

export const get = <T>(path: string, query?: Options['query'], signal?: AbortSignal) => result<T>('GET', path, { query, signal });
export const post = <T>(path: string, body: unknown = {}, query?: Options['query']) => result<T>('POST', path, { body, query });
export const put = <T>(path: string, body: unknown) => result<T>('PUT', path, { body });
export const remove = <T>(path: string, query?: Options['query']) => result<T>('DELETE', path, { query });

/** What is there, or null where a gateway has no such thing. */
export async function ifThere<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof Refused && error.code === 'not_found') return null;
    throw error;
  }
}

/** Calls a tool by its name. */
export const tool = <T>(name: string, args: unknown, query?: Options['query'], signal?: AbortSignal) =>
  result<T>('POST', `/api/tools/${name.split('/').map(encodeURIComponent).join('/')}`, { body: args, query, signal });

/** One part of a path. */
export const part = encodeURIComponent;
