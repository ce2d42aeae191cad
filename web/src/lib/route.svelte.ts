// Where one is: what stands after the # of the address. Nothing there changes whom the page talks to.

export type Route = { page: string; rest: string[]; query: URLSearchParams };

function read(): Route {
  const [path = '', search = ''] = location.hash.replace(/^#\/?/, '').split('?', 2);
  const decode = (part: string) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  };
  const [page = '', ...rest] = path.split('/').map(decode);
  return { page: page || 'chat', rest, query: new URLSearchParams(search) };
}

let now = $state.raw<Route>(read());
window.addEventListener('hashchange', () => (now = read()));

export const route = {
  get now(): Route {
    return now;
  },
};

/** The address of a place in the page. */
export function link(page: string, ...rest: (string | Record<string, string>)[]): string {
  const last = rest.at(-1);
  const query = typeof last === 'object' ? last : undefined;
  const parts = rest.filter((part) => typeof part === 'string').map(encodeURIComponent);
  const search = query ? new URLSearchParams(query).toString() : '';
  return `#/${[page, ...parts].join('/')}${search ? `?${search}` : ''}`;
}

export function go(page: string, ...rest: (string | Record<string, string>)[]): void {
  location.hash = link(page, ...rest);
}

/** Whether the address asks for the form of something new. Returns true only once, so a closed form does not open again. */
export function asksForNew(): boolean {
  if (!now.query.has('new')) return false;
  location.replace(link(now.page));
  return true;
}
