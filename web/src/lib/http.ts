// Requests to the gateway. Every answer is an envelope: what came of it, or why not and what to do.

import type { components, paths } from '../generated/api';
import { labelFor } from './forms';
import { t } from './i18n';
import { token } from './session';

export type Envelope = components['schemas']['Envelope'];
/** An answer, and the id by which the audit knows the call. */
export type Answer = Envelope & { call: string | null };
export type Content = NonNullable<Envelope['content']>[number];

/** The body that an operation takes, as the gateway's document has it. */
export type Body<P extends keyof paths, M extends keyof paths[P]> = paths[P][M] extends {
  requestBody?: { content: { 'application/json': infer B } };
}
  ? B
  : never;

type Verb = 'get' | 'post' | 'put' | 'delete';
/** What an operation answers with, as the gateway's document has it. */
export type At<P extends keyof paths, M extends Verb = 'get'> = paths[P][M] extends { responses: infer R } ? Good<R[keyof R & (200 | 201 | 202)]> : unknown;
type Good<R> = R extends { content: { 'application/json': { result: infer T } } } ? T : unknown;

/** Why a request gave nothing. */
export class Refused extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly hint: string,
    readonly problems: { parameter: string; message: string }[],
    readonly details: Record<string, unknown>,
    readonly status: number,
    /** By which the audit knows the call, where it was one. */
    readonly call: string | null = null,
  ) {
    super(message);
  }

  /** The message, with the parameters called as the form labels them. The gateway knows them by their wire names only. */
  labelled(labels: Record<string, string>): string {
    if (!this.problems.length) return this.message;
    return this.problems.map(({ parameter, message }) => t('common.problem', { field: labelFor(labels, parameter), problem: message })).join('\n');
  }
}

/** The gateway says its advice on a line of its own. */
const HINT = '\nhint: ';

function refusal(envelope: Envelope, status: number, call: string | null): Refused {
  const [message = '', hint = ''] = (envelope.error ?? t('common.answeredStatus', { status: String(status) })).split(HINT, 2);
  const problems = (envelope.problems ?? []) as { parameter: string; message: string }[];
  return new Refused(envelope.code ?? 'failed', message, hint, problems, (envelope.details ?? {}) as Record<string, unknown>, status, call);
}

let onLoggedOut: () => void = () => undefined;

/** Says what happens when the gateway no longer knows who asks. */
export function whenLoggedOut(then: () => void): void {
  onLoggedOut = then;
}

type Options = {
  query?: Record<string, string | number | boolean | undefined>;
  body?: unknown;
  raw?: Blob;
  signal?: AbortSignal;
  /** Whose token is sent where it is not the session's; null sends none. */
  as?: string | null;
};

function address(path: string, query: Options['query']): string {
  const all = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== '');
  const search = new URLSearchParams(all.map(([key, value]) => [key, String(value)])).toString();
  return search ? `${path}?${search}` : path;
}

/** Sends a request with the session's token, which nothing but the page itself adds. */
async function send(method: string, path: string, accept: string, options: Options): Promise<Response> {
  const { query, body, raw, signal, as = token() } = options;
  const headers: Record<string, string> = { accept };
  if (body !== undefined) headers['content-type'] = 'application/json';
  if (as !== null) headers.authorization = `Bearer ${as}`;
  try {
    const response = await fetch(address(path, query), {
      method,
      headers,
      body: raw ?? (body === undefined ? null : JSON.stringify(body)),
      signal: signal ?? null,
      credentials: 'omit',
      redirect: 'error',
    });
    if (response.status === 401 && options.as === undefined) onLoggedOut();
    return response;
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refused('unavailable', t('common.unreachable', { host: location.host }), t('common.unreachableHint'), [], {}, 0);
  }
}

/** The envelope of a response, whether it is good or not. */
async function opened(response: Response): Promise<Envelope> {
  const text = await response.text();
  try {
    return JSON.parse(text) as Envelope;
  } catch {
    return { ok: response.ok, ...(response.ok ? { result: text } : { error: t('common.answeredStatus', { status: String(response.status) }) }) };
  }
}

/** Asks, and gives the whole envelope of an answer that is good. */
export async function envelope(method: string, path: string, options: Options = {}): Promise<Answer> {
  const response = await send(method, path, 'application/json', options);
  const answer = await opened(response);
  const call = response.headers.get('x-manyhands-call');
  if (!answer.ok) throw refusal(answer, response.status, call);
  return { ...answer, call };
}

/** The bytes at an address. Elements such as `<img>` would ask for them without the session's token. */
export async function blob(path: string): Promise<Blob> {
  const response = await send('GET', path, '*/*', {});
  if (!response.ok) throw refusal(await opened(response), response.status, null);
  return response.blob();
}

const result = async <T>(method: string, path: string, options?: Options) => (await envelope(method, path, options)).result as T;
type Query = Options['query'];

// A path as it stands in the document says by itself what comes; one with ids in it is said with `At`.
export function get<P extends keyof paths>(path: P, query?: Query, signal?: AbortSignal): Promise<At<P>>;
export function get<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T>;
export function get(path: string, query?: Query, signal?: AbortSignal): Promise<unknown> {
  return result('GET', path, { query, signal });
}
export function post<P extends keyof paths>(path: P, body?: Body<P, 'post'>, query?: Query): Promise<At<P, 'post'>>;
export function post<T>(path: string, body?: unknown, query?: Query): Promise<T>;
export function post(path: string, body: unknown = {}, query?: Query): Promise<unknown> {
  return result('POST', path, { body, query });
}
export function put<P extends keyof paths>(path: P, body: Body<P, 'put'>): Promise<At<P, 'put'>>;
export function put<T>(path: string, body: unknown): Promise<T>;
export function put(path: string, body: unknown): Promise<unknown> {
  return result('PUT', path, { body });
}
export const remove = <T>(path: string, query?: Query) => result<T>('DELETE', path, { query });

/** What is there, or null where a gateway has no such thing. */
export async function ifThere<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof Refused && error.code === 'not_found') return null;
    throw error;
  }
}

/** Asks again a few times while what was just made is not known yet. */
export async function patiently<T>(ask: () => Promise<T>, tries = 10, ms = 200): Promise<T> {
  for (let left = tries; ; left--) {
    try {
      return await ask();
    } catch (error) {
      if (left <= 1 || !(error instanceof Refused && error.code === 'not_found')) throw error;
      await new Promise((later) => setTimeout(later, ms));
    }
  }
}

/** The tools whose results the gateway's document describes here; others are known when the page runs. */
type Known = keyof { [P in keyof paths as P extends `/api/tools/${infer N}` ? (N extends `{${string}` ? never : N) : never]: 1 };

/** Calls a tool by its name. */
export function tool<N extends Known>(name: N, args: Body<`/api/tools/${N}`, 'post'>, query?: Query, signal?: AbortSignal): Promise<At<`/api/tools/${N}`, 'post'>>;
export function tool<T>(name: string, args: unknown, query?: Query, signal?: AbortSignal): Promise<T>;
export function tool(name: string, args: unknown, query?: Query, signal?: AbortSignal): Promise<unknown> {
  return result('POST', `/api/tools/${name.split('/').map(encodeURIComponent).join('/')}`, { body: args, query, signal });
}

/** One part of a path. */
export const part = encodeURIComponent;
