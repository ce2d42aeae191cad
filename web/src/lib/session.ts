// The session of this browser: a token that the page stores for its own origin, that is scheme, host and port, and
// sends by itself with every request. It is not a cookie: browsers send cookies to every port of a host, so any
// other server on the same machine would receive it.

const KEY = 'manyhands.session';

/** Where the token is stored; a browser may refuse it. */
function storage(): Pick<Storage, 'getItem' | 'setItem' | 'removeItem'> | null {
  try {
    return globalThis.localStorage ?? null;
  } catch {
    return null;
  }
}

/** For browsers that store nothing: the session then lasts until the page is closed. */
let unstored: string | null = null;

/** The token of the session, also when another tab logged in. */
export function token(): string | null {
  return unstored ?? storage()?.getItem(KEY) ?? null;
}

export function keepToken(fresh: string): void {
  const stored = storage();
  try {
    stored?.setItem(KEY, fresh);
    unstored = stored ? null : fresh;
  } catch {
    unstored = fresh;
  }
}

/** Forgets a token that is no longer valid, unless another tab has replaced it meanwhile. */
export function forgetToken(old: string | null): void {
  if (old === null || token() !== old) return;
  unstored = null;
  storage()?.removeItem(KEY);
}

/** The code in a login link, or in what somebody pasted. */
export function codeIn(text: string): string {
  return /[#?&]code=([^&\s]+)/.exec(text)?.[1] ?? text.trim();
}

/** Takes the code out of the address, so that it is in no bookmark and nothing else reads it. */
function takeCode(): string {
  if (globalThis.location?.pathname !== '/login') return '';
  const code = location.hash.startsWith('#code=') ? codeIn(location.hash) : '';
  history.replaceState(null, '', '/');
  return code;
}

/** The code of the login link that opened this page. */
export const openedWith = takeCode();
