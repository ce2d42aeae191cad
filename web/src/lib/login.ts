// Logging in with the one-time code of a login link.

import { Refused, envelope, type At } from './http';
import { keepToken, openedWith, token } from './session';

/** Exchanges a code for a session. The session before it, if there was one, ends. */
export async function logIn(code: string): Promise<void> {
  const before = token();
  const { result } = await envelope('POST', '/api/session/login', { body: { code }, as: null });
  keepToken((result as At<'/api/session/login', 'post'>).token);
  if (before) await envelope('POST', '/api/session/logout', { body: {}, as: before }).catch(() => undefined);
}

let problem = '';

/** Why the link that opened the page did not log in. */
export const linkProblem = (): string => problem;

/** What to say about a login that failed. */
export function why(error: unknown): string {
  if (error instanceof Refused && error.status === 401) return 'This login link is invalid or expired.';
  return error instanceof Error ? error.message : String(error);
}

/** Logs in where the page was opened with a login link. */
export async function enter(): Promise<void> {
  if (!openedWith) return;
  await logIn(openedWith).catch((error: unknown) => (problem = why(error)));
}
