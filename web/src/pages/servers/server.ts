// MCP servers, as the pages about them see them.

import '../../texts/use/servers';
import type { ServerView } from '../../lib/answers';
import type { At } from '../../lib/http';
import type { Key } from '../../lib/i18n';

/** A server; what an older gateway does not say is absent. */
export type Server = ServerView & { enabled?: boolean; disabledTools?: string[]; log?: boolean };

export const enabled = (server: Server): boolean => server.enabled ?? server.state !== 'off';

/** A server as it would be added. */
export type Draft = {
  name?: string;
  url?: string;
  headers?: Record<string, string>;
  command?: string;
  args?: string[];
  env?: Record<string, string>;
  json?: string;
  directory?: string;
  values?: Record<string, string>;
};

export type Wanted = { name: string; description: string; url?: string | null; scopes?: string[]; optional?: boolean; default?: string | null };

/** What adding a draft would do. */
export type Preview = At<'/api/servers/preview', 'post'>;
/** Another AI client on the gateway's machine, and its servers. */
export type ImportClient = At<'/api/servers/import'>['clients'][number];

/** What to do about a server that fails, judged by its error. */
export function advice(problem: string, local: boolean): Key {
  if (/\b(401|403)\b|unauthori[sz]ed|forbidden|log ?in|invalid.{0,12}(token|key)|credential/i.test(problem)) return 'servers.adviceLogin';
  if (local && /not found|no such file|enoent|cannot find|not installed/i.test(problem)) return 'servers.adviceInstall';
  if (local) return 'servers.adviceLog';
  if (/refused|timed? ?out|resolve|dns|unreachable|connect|certificate|tls/i.test(problem)) return 'servers.adviceReach';
  return 'servers.adviceOther';
}

/** A state as a word and its colour. */
export const STATES: Record<ServerView['state'], { label: Key; word: string }> = {
  off: { label: 'common.disabled', word: 'off' },
  stopped: { label: 'common.stopped', word: 'stopped' },
  idle: { label: 'servers.idle', word: 'idle' },
  starting: { label: 'servers.starting', word: 'starting' },
  ready: { label: 'servers.ready', word: 'ready' },
  failing: { label: 'servers.failing', word: 'failing' },
};
