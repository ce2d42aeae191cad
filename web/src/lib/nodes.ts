// What connects a machine to the gateway.

import { quoted } from './snippets';

export type System = 'linux' | 'npm' | 'uv' | 'installed';
export const SYSTEMS: System[] = ['linux', 'npm', 'uv', 'installed'];

/** What commands on the node may change. */
export type Sandbox = 'off' | 'workspace' | 'read-only';

const INSTALL = 'curl -fsSL https://github.com/manyhands/manyhands/releases/latest/download/install.sh | sh';
const PROGRAM: Record<System, string> = { linux: '~/.local/bin/manyhands', npm: 'npx manyhands', uv: 'uvx manyhands', installed: 'manyhands' };

export type Wish = { system: System; url: string; code: string; service: boolean; sandbox: Sandbox; workspace: string; terminal: boolean };

/** The command that installs what is missing, enrols the machine and connects it. */
export function nodeCommand({ system, url, code, service, sandbox, workspace, terminal }: Wish): string {
  const folder = workspace.trim();
  const options = [
    ...(folder ? ['--workspace', folder.startsWith('~/') ? `~/${quoted(folder.slice(2))}` : quoted(folder)] : []),
    ...(sandbox === 'off' ? [] : ['--sandbox', sandbox]),
    ...(terminal ? ['--terminal'] : []),
  ];
  const connect = [PROGRAM[system], 'node', ...(service ? ['install'] : []), '--url', quoted(url), '--code', quoted(code), ...options].join(' ');
  return system === 'linux' ? `${INSTALL} && ${connect}` : connect;
}

/** Whether an address leads to its own machine only. */
export function loopback(url: string): boolean {
  try {
    return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(url).hostname);
  } catch {
    return false;
  }
}

/** A system as people call it: `linux-x64` is Linux. */
export function systemName(platform: string): string {
  const [os = '', arch = ''] = platform.split('-', 2);
  const name = { linux: 'Linux', darwin: 'macOS', macos: 'macOS', win32: 'Windows', windows: 'Windows' }[os.toLowerCase()] ?? os;
  return arch ? `${name} (${arch})` : name;
}
