// Terminals on nodes. They stay open while other pages are shown, and end with the connection to the gateway.

import '../../texts/use/nodes';
import { live, told } from '../../lib/live.svelte';
import { t } from '../../lib/i18n';
import type { Events } from '../../lib/socket';
import type { Screen } from './xterm';

/** What the gateway lets one connection have open. */
export const MOST = 8;

/** Characters sent at once: fewer bytes than the gateway takes, whatever they are. */
const PIECE = 250_000;

let last = 0;

export class Shell {
  readonly number = (last += 1);
  state = $state<'starting' | 'open' | 'closed'>('starting');
  /** Why it ended, or could not start. */
  reason = $state('');
  title = $state('');
  /** Holds the terminal's elements; it moves between pages. */
  readonly host = document.createElement('div');
  screen: Screen | null = null;
  #id = '';
  #offs: (() => void)[] = [];
  #queue = '';
  #sending = false;

  constructor(
    readonly node: string,
    readonly cwd: string,
  ) {
    this.host.className = 'host';
  }

  /** Called once its element is in the document: the size is not known before. */
  async start(): Promise<void> {
    if (this.screen) return;
    const { screenIn } = await import('./xterm');
    this.screen = screenIn(this.host, t('nodes.terminalInput', { node: this.node }));
    const { terminal } = this.screen;
    terminal.onData((data) => this.type(data));
    terminal.onBinary((data) => this.type(data));
    terminal.onTitleChange((title) => (this.title = title.slice(0, 60)));
    terminal.onResize(({ cols, rows }) => this.#id && void live.call('terminal.resize', { terminalId: this.#id, cols, rows }).catch(() => undefined));
    terminal.attachCustomKeyEventHandler((event) => this.#key(event));
    await this.open();
  }

  async open(): Promise<void> {
    this.state = 'starting';
    this.reason = '';
    for (const off of this.#offs.splice(0)) off();
    const waiting: Events['terminal.output'][] = [];
    this.#offs.push(
      live.on('terminal.output', (news) => {
        if (!this.#id) waiting.push(news);
        else if (news.terminalId === this.#id) this.screen?.terminal.write(news.data);
      }),
      live.on('terminal.closed', (news) => {
        if (news.terminalId !== this.#id) return;
        const code = news.exitCode;
        this.#ended(news.reason ?? (code === undefined ? t('nodes.terminalEnded') : t('nodes.terminalExited', { code: String(code) })));
      }),
    );
    try {
      const size = this.screen?.fit() ?? { cols: 80, rows: 24 };
      const { terminalId } = await live.call('terminal.open', { nodeId: this.node, ...size, ...(this.cwd ? { cwd: this.cwd } : {}) });
      this.#id = terminalId;
      this.state = 'open';
      for (const news of waiting) if (news.terminalId === terminalId) this.screen?.terminal.write(news.data);
      this.screen?.terminal.focus();
    } catch (error) {
      const { message, hint } = told(error);
      this.#ended([message, hint].filter(Boolean).join('\n'));
    }
  }

  #ended(reason: string): void {
    this.#id = '';
    this.state = 'closed';
    this.reason = reason;
    for (const off of this.#offs.splice(0)) off();
  }

  /** Ends what the gateway has forgotten: its terminals end with the connection. */
  lost(): void {
    if (this.state === 'open') this.#ended(t('common.connectionLost'));
  }

  /** Sends keys, in order; those typed meanwhile go together. */
  type(data: string): void {
    if (this.state !== 'open') return;
    this.#queue += data;
    if (!this.#sending) void this.#send();
  }

  async #send(): Promise<void> {
    this.#sending = true;
    while (this.#queue && this.#id) {
      // Not between the halves of a character.
      const end = /[\ud800-\udbff]/.test(this.#queue[PIECE - 1] ?? '') ? PIECE - 1 : PIECE;
      const data = this.#queue.slice(0, end);
      this.#queue = this.#queue.slice(end);
      await live.call('terminal.input', { terminalId: this.#id, data }).catch((error: unknown) => this.#ended(told(error).message));
    }
    this.#queue = '';
    this.#sending = false;
  }

  /** Keys that belong to the page rather than to the program. */
  #key(event: KeyboardEvent): boolean {
    if (event.type !== 'keydown') return true;
    const letter = event.key.toLowerCase();
    const primary = event.ctrlKey || event.metaKey;
    if (primary && letter === 'c' && (event.shiftKey || event.metaKey || this.screen?.terminal.hasSelection())) {
      event.preventDefault();
      void this.copy();
      return false;
    }
    // Not handled here: the browser pastes into the terminal's field.
    if (primary && letter === 'v') return false;
    // The way out for people who use the keyboard alone.
    if (event.ctrlKey && event.shiftKey && event.key === 'Enter') {
      event.preventDefault();
      this.host.closest('[data-terminal]')?.querySelector('button')?.focus();
      return false;
    }
    return true;
  }

  async copy(): Promise<void> {
    const text = this.screen?.terminal.getSelection() ?? '';
    if (!text) return;
    await navigator.clipboard?.writeText(text).catch(() => undefined);
    this.screen?.terminal.clearSelection();
  }

  async paste(): Promise<void> {
    const text = await live.tried(() => navigator.clipboard.readText());
    if (text) this.screen?.terminal.paste(text);
    this.screen?.terminal.focus();
  }

  end(): void {
    if (this.#id) void live.call('terminal.close', { terminalId: this.#id }).catch(() => undefined);
    this.#ended('');
    this.screen?.terminal.dispose();
    this.host.remove();
  }
}

const all = $state<Shell[]>([]);

export const shells = {
  of: (node: string): Shell[] => all.filter((one) => one.node === node),
  get count(): number {
    return all.filter((one) => one.state !== 'closed').length;
  },
  add(node: string, cwd = ''): Shell {
    const shell = new Shell(node, cwd);
    all.push(shell);
    return shell;
  },
  end(shell: Shell): void {
    shell.end();
    const at = all.findIndex((one) => one.number === shell.number);
    if (at >= 0) all.splice(at, 1);
  },
  lost(): void {
    for (const shell of all) shell.lost();
  },
};
