// Logging in with the one-time code of a login link. Opening the link does not use it up: previews of links and
// browsers that load pages ahead would log themselves in. Only a button press sends the code.

import { t } from './i18n';
import { Refused, envelope, type At } from './http';
import { keepToken, token } from './session';

/** Exchanges a code for a session. The session before it, if there was one, ends. */
export async function logIn(code: string): Promise<void> {
  const before = token();
  const { result } = await envelope('POST', '/api/session/login', { body: { code }, as: null });
  keepToken((result as At<'/api/session/login', 'post'>).token);
  if (before) await envelope('POST', '/api/session/logout', { body: {}, as: before }).catch(() => undefined);
}

/** Whether this browser has a valid session. */
export async function loggedIn(): Promise<boolean> {
  const known = token();
  if (known === null) return false;
  return envelope('GET', '/api/session', { as: known }).then(() => true, () => false);
}

/** The message for a login that failed. */
export function why(error: unknown): string {
  if (error instanceof Refused && error.status === 401) return t('login.invalid');
  return error instanceof Error ? error.message : String(error);
}
