// One conversation as it is shown: what was said before, and what comes in. Events may be missed, so
// whenever there is doubt what was said is fetched again: the gateway has it all.

import type { ChatMessage, ChatUsage } from '../../generated/protocol';
import { post } from '../../lib/http';
import { live, told } from '../../lib/live.svelte';
import { plain } from '../../lib/safe';
import { CallError, type Events } from '../../lib/socket';

export type Picture = { data: string; mimeType: string };

export type Item =
  | { kind: 'user'; text: string; at: number | null; pictures: Picture[]; unseen: number }
  | { kind: 'agent'; text: string; at: number | null }
  | { kind: 'tool'; id: string; name: string; args: unknown; state: 'running' | 'ok' | 'error'; result: string; ms: number | null; began: number | null }
  | { kind: 'note'; tone: 'quiet' | 'bad'; text: string; hint: string };

export type Question = { id: string; tool: string; arguments: unknown };

const PAGE = 60;

export class Transcript {
  items = $state<Item[]>([]);
  /** What is being said right now. */
  text = $state('');
  thinking = $state('');
  busy = $state(false);
  question = $state.raw<Question | null>(null);
  usage = $state.raw<{ used: ChatUsage; ms: number } | null>(null);
  before = $state<number | null>(null);
  loaded = $state(false);
  error = $state.raw<{ message: string; hint: string } | null>(null);
  /** The session's one spelling, once the gateway said it. */
  key = $state('');
  #runs = new Set<string>();
  #began = 0;
  #off: (() => void)[];

  constructor(readonly asked: string) {
    this.key = asked;
    this.#off = [
      live.on('chat', (event) => this.#heard(event)),
      live.on('chat.tool', (event) => this.#worked(event)),
      live.on('chat.gap', () => void this.load()),
    ];
  }

  end(): void {
    for (const off of this.#off) off();
  }

  /** Fetches the end of the conversation and how it stands. */
  async load(): Promise<void> {
    try {
      const said = await live.call('session.history', { sessionKey: this.asked, limit: PAGE });
      this.key = said.sessionKey;
      this.items = shown(said.messages);
      this.before = said.nextBefore ?? null;
      const stats = await live.call('session.stats', { sessionKey: this.asked });
      this.busy = stats.isProcessing;
      if (!stats.isProcessing) {
        this.text = this.thinking = '';
        this.question = null;
      } else if (stats.approvalId) {
        await live.look();
        const waits = live.approvals.find((one) => one.id === stats.approvalId);
        if (waits) this.question = waits;
      }
      this.error = null;
    } catch (error) {
      // A session that nobody said anything in yet is an empty one.
      if (error instanceof CallError && error.code === 404) this.error = null;
      else if (!(error instanceof CallError && error.retryable)) this.error = told(error);
      else return;
    }
    this.loaded = true;
  }

  /** What was said earlier. */
  async earlier(): Promise<void> {
    if (this.before === null) return;
    const said = await live.tried(() => live.call('session.history', { sessionKey: this.asked, limit: PAGE, before: this.before }));
    if (!said) return;
    this.items = [...shown(said.messages), ...this.items];
    this.before = said.nextBefore ?? null;
  }

  /** Says something. Whether it was taken. */
  async send(text: string, pictures: Picture[]): Promise<boolean> {
    const runId = crypto.randomUUID();
    const command = text.startsWith('/') && !/^\/[tm]:/.test(text);
    const item: Item = { kind: 'user', text, at: Date.now(), pictures, unseen: 0 };
    const first = !this.items.length && /:talk-[0-9a-f]+$/.test(this.asked) && !command;
    this.items.push(item);
    const place = this.items.length - 1;
    this.#runs.add(runId);
    this.usage = null;
    try {
      if (pictures.length) {
        this.#begin();
        // The words with the pictures go by HTTP; what comes of them comes by the socket.
        post<unknown>('/api/chat', { message: text, pictures, runId, sessionKey: this.asked }, { wait: 600 }).catch((error: unknown) => {
          if (this.busy && this.#runs.has(runId)) this.#ended(told(error));
        });
        return true;
      }
      const sent = await live.call('chat.send', { sessionKey: this.asked, message: text, runId });
      if (sent.status === 'command' || sent.status === 'directive-only') {
        const wrong = sent.status === 'command' ? sent.error : undefined;
        this.#note(wrong ?? sent.response, wrong ? 'bad' : 'quiet');
        if (command && /^\/(new|reset|compact)/.test(text)) await this.load();
      } else {
        this.#begin();
        if (sent.status === 'paused') this.#note(sent.response, 'quiet');
        // A conversation without a name is called by its first words.
        if (first) await live.call('session.patch', { sessionKey: this.asked, label: plain(text.replaceAll('\n', ' '), 60) }).catch(() => undefined);
      }
      return true;
    } catch (error) {
      this.items.splice(place, 1);
      live.fail(error);
      return false;
    }
  }

  async stop(): Promise<void> {
    await live.tried(() => live.call('chat.stop', { sessionKey: this.asked }));
  }

  #begin(): void {
    if (!this.busy) this.#began = performance.now();
    this.busy = true;
  }

  #note(text: string, tone: 'quiet' | 'bad', hint = ''): void {
    this.items.push({ kind: 'note', tone, text, hint });
  }

  #ended(wrong?: { message: string; hint: string }): void {
    this.#commit(this.text);
    this.busy = false;
    this.question = null;
    if (wrong) this.#note(wrong.message, 'bad', wrong.hint);
  }

  #commit(text: string): void {
    if (text.trim()) this.items.push({ kind: 'agent', text, at: Date.now() });
    this.text = this.thinking = '';
  }

  #heard(event: Events['chat']): void {
    if (event.sessionKey !== this.key && event.sessionKey !== this.asked) return;
    this.key = event.sessionKey;
    const run = event.runId ?? '';
    if (run && !this.#runs.has(run)) {
      // Somebody else said something here: what it was is in the history.
      this.#runs.add(run);
      void this.load();
    }
    switch (event.state) {
      case 'delta':
        this.#begin();
        this.question = null;
        if (event.restart) {
          this.text = this.thinking = '';
          this.#note(`begun again: ${event.restart}`, 'quiet');
        }
        this.text += event.text ?? '';
        this.thinking += event.thinking ?? '';
        break;
      case 'partial':
        this.#begin();
        this.#commit(event.text ?? this.text);
        break;
      case 'paused':
        this.#begin();
        this.question = event.approvalId ? { id: event.approvalId, tool: event.tool ?? '', arguments: event.arguments } : null;
        break;
      case 'final':
        this.#commit(event.text ?? this.text);
        this.busy = false;
        this.question = null;
        if (event.stopReason === 'length') this.#note('the reply was cut: it reached the most tokens of one reply', 'quiet');
        if (event.usage) this.usage = { used: event.usage, ms: this.#began ? performance.now() - this.#began : 0 };
        break;
      case 'error': {
        const [message = '', hint = ''] = (event.error ?? 'there is no answer').split('\nhint: ', 2);
        this.#ended(event.stopped ? undefined : { message, hint });
        if (event.stopped) this.#note('stopped', 'quiet');
        for (const item of this.items) if (item.kind === 'tool' && item.state === 'running') item.state = 'error';
        break;
      }
    }
  }

  #worked(event: Events['chat.tool']): void {
    if (event.sessionKey !== this.key) return;
    if (event.state === 'started') {
      this.question = null;
      this.items.push({ kind: 'tool', id: event.callId, name: event.tool, args: event.args, state: 'running', result: '', ms: null, began: Date.now() });
      return;
    }
    const item = this.items.findLast((one) => one.kind === 'tool' && one.id === event.callId && one.state === 'running');
    if (item?.kind !== 'tool') return;
    item.state = event.ok ? 'ok' : 'error';
    item.result = event.shown ?? '';
    item.ms = event.durationMs ?? null;
  }
}

/** Messages of the history as they are shown. */
function shown(messages: ChatMessage[]): Item[] {
  const items: Item[] = [];
  for (const message of messages) {
    const at = message.timestamp ?? null;
    const text = message.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
    if (message.role === 'toolResult') {
      const call = items.findLast((one) => one.kind === 'tool' && one.id === message.toolCallId && one.state === 'running');
      if (call?.kind === 'tool') {
        call.state = message.isError ? 'error' : 'ok';
        call.result = text;
      }
      continue;
    }
    if (message.role === 'user') {
      const unseen = message.content.filter((block) => block.type === 'image').length;
      items.push({ kind: 'user', text, at, pictures: [], unseen });
      continue;
    }
    if (text.trim()) items.push({ kind: 'agent', text, at });
    for (const block of message.content) {
      if (block.type === 'toolCall') items.push({ kind: 'tool', id: block.id, name: block.name, args: block.arguments, state: 'running', result: '', ms: null, began: null });
    }
  }
  return items;
}
