// One conversation as it is shown: what was said before, and what comes in. Events may be missed, so
// whenever there is doubt what was said is fetched again: the gateway has it all.

import { randomId } from '../../lib/browser';
import { post } from '../../lib/http';
import { live, told } from '../../lib/live.svelte';
import { plain } from '../../lib/safe';
import { CallError, type Events } from '../../lib/socket';
import { cost, hasEnd, item, meant, printed, shown, source, type Item, type Picture } from './items';

export type Question = { id: string; tool: string; arguments: unknown };

const PAGE = 60;

export class Transcript {
  items = $state<Item[]>([]);
  /** What is being said right now. */
  text = $state('');
  thinking = $state('');
  busy = $state(false);
  question = $state.raw<Question | null>(null);
  before = $state<number | null>(null);
  loaded = $state(false);
  error = $state.raw<{ message: string; hint: string } | null>(null);
  /** The session's one spelling, once the gateway said it. */
  key = $state('');
  #runs = new Set<string>();
  /** The question that was seen among those that wait. */
  #waiting = '';
  #began = 0;
  /** How many answers came. */
  #answers = 0;
  #fetching = false;
  #off: (() => void)[];

  constructor(readonly asked: string) {
    this.key = asked;
    this.#off = [
      live.on('chat', (event) => this.#heard(event)),
      live.on('chat.tool', (event) => this.#worked(event)),
      live.on('chat.gap', () => void this.load()),
      live.on('session.deleted', (event) => event.sessionKey === this.key && this.#deleted()),
    ];
  }

  end(): void {
    for (const off of this.#off) off();
  }

  /** Fetches the end of the conversation and how it stands. */
  async load(): Promise<void> {
    try {
      const before = this.#answers;
      const said = await live.call('session.history', { sessionKey: this.asked, limit: PAGE });
      // An answer that came meanwhile may be missing in it.
      if (before !== this.#answers) return await this.load();
      this.key = said.sessionKey;
      this.items = shown(said.messages, said.sessionKey);
      this.before = said.nextBefore ?? null;
      const stats = await live.call('session.stats', { sessionKey: this.asked });
      this.busy = stats.isProcessing;
      if (!stats.isProcessing) {
        this.text = this.thinking = '';
        this.question = null;
        this.#silence();
      } else if (stats.approvalId) {
        await live.look();
        const waits = live.approvals.find((one) => one.id === stats.approvalId);
        if (waits) this.question = waits;
      }
      this.error = null;
    } catch (error) {
      // A session that nobody said anything in yet is an empty one; one that was there is deleted.
      if (error instanceof CallError && error.code === 404) {
        this.error = null;
        if (this.items.some((one) => one.kind === 'user' && one.seq !== null)) this.#deleted();
      } else if (!(error instanceof CallError && error.retryable)) this.error = told(error);
      else return;
    }
    this.loaded = true;
  }

  /** What was said earlier. */
  async earlier(): Promise<void> {
    if (this.before === null || this.#fetching) return;
    this.#fetching = true;
    const said = await live.tried(() => live.call('session.history', { sessionKey: this.asked, limit: PAGE, before: this.before }));
    this.#fetching = false;
    if (!said) return;
    this.items = [...shown(said.messages, said.sessionKey), ...this.items];
    this.before = said.nextBefore ?? null;
  }

  /** Says something. Whether it was taken. */
  async send(text: string, pictures: Picture[]): Promise<boolean> {
    const runId = randomId();
    const command = text.startsWith('/') && !/^\/[tm]:/.test(text);
    const first = this.items.every((one) => one.kind === 'note') && /:talk-[0-9a-f]+$/.test(this.asked) && !command;
    const mine = item({ kind: 'user', seq: null, text, from: '', at: Date.now(), pictures, unseen: 0 });
    this.items.push(mine);
    this.#runs.add(runId);
    try {
      if (pictures.length) {
        this.#begin();
        // The words with the pictures go by HTTP; what comes of them comes by the socket.
        const sent = pictures.map(({ data = '', mimeType }) => ({ data, mimeType }));
        post('/api/chat', { message: text, pictures: sent, runId, sessionKey: this.asked }, { wait: 600 }).catch((error: unknown) => {
          if (this.busy && this.#runs.has(runId)) this.#ended(told(error));
        });
        if (first) this.#name(text);
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
        if (first) this.#name(text);
      }
      return true;
    } catch (error) {
      this.items = this.items.filter((one) => one.key !== mine.key);
      live.fail(error);
      return false;
    }
  }

  /** Takes a message and all that followed back, and says it in other words. Whether it was taken. */
  async resend(key: number, text: string): Promise<boolean> {
    let mine = this.items.find((one) => one.key === key);
    if (mine?.kind !== 'user') return false;
    const { text: words, pictures } = mine;
    if (mine.seq === null) {
      // What was said a moment ago has its number in the history.
      await this.load();
      mine = meant(this.items, words);
    }
    if (mine?.kind !== 'user' || mine.seq === null) {
      live.fail(new Error('that message is no longer there'));
      return false;
    }
    const { seq } = mine;
    const kept = await live.tried(() => Promise.all(pictures.map(bytesOf)));
    if (!kept) return false;
    const done = await live.tried(() => live.call('session.rewind', { sessionKey: this.asked, seq }));
    if (!done) return false;
    await this.load();
    return this.send(text, kept);
  }

  /** Lets go of a question that no longer waits. */
  settle(waiting: { id: string }[]): void {
    const id = this.question?.id ?? '';
    if (waiting.some((one) => one.id === id)) this.#waiting = id;
    else if (id && this.#waiting === id) this.answered();
  }

  /** The owner gave an answer: what was asked about begins only now. */
  answered(): void {
    this.question = null;
    for (const one of this.items) if (one.kind === 'tool' && one.state === 'running') one.began = Date.now();
  }

  async stop(): Promise<void> {
    await live.tried(() => live.call('chat.stop', { sessionKey: this.asked }));
  }

  #name(text: string): void {
    const label = plain(text.trim().replaceAll('\n', ' '), 60);
    if (label) void live.call('session.patch', { sessionKey: this.asked, label }).catch(() => undefined);
  }

  #begin(): void {
    if (!this.busy) this.#began = performance.now();
    this.busy = true;
  }

  #note(text: string, tone: 'quiet' | 'bad', hint = ''): void {
    this.items.push(item({ kind: 'note', tone, text, hint }));
  }

  /** A call whose run is over runs no more, whatever was missed of it. */
  #silence(as: 'ok' | 'error' = 'error'): void {
    for (const one of this.items) if (one.kind === 'tool' && one.state === 'running') one.state = as;
  }

  #ended(wrong?: { message: string; hint: string }): void {
    this.#commit(this.text);
    this.busy = false;
    this.question = null;
    this.#silence();
    if (wrong) this.#note(wrong.message, 'bad', wrong.hint);
  }

  /** A turn without an answer cost something too: the history says what. */
  async #spent(): Promise<void> {
    const said = await live.call('session.history', { sessionKey: this.asked, limit: 1 }).catch(() => null);
    const used = said?.messages.at(-1)?.usage;
    const last = this.items.findLast((one) => one.kind === 'cost');
    const known = last?.kind === 'cost' && JSON.stringify(last.used) === JSON.stringify(used);
    if (used && !known && !this.busy) this.items.push(cost(used));
  }

  /** Somebody deleted the conversation, here or elsewhere. */
  #deleted(): void {
    this.text = this.thinking = '';
    this.busy = false;
    this.question = null;
    this.before = null;
    this.items = [];
    this.#note('This conversation was deleted. What is said next begins a new one.', 'quiet');
  }

  #commit(text: string): void {
    if (text.trim()) this.items.push(item({ kind: 'agent', text, at: Date.now() }));
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
        this.#answers += 1;
        if (hasEnd(this.items, event.text ?? '', event.usage ?? undefined)) {
          this.text = '';
          this.#ended();
          break;
        }
        this.#commit(event.text ?? this.text);
        this.#silence('ok');
        this.#ended();
        if (event.stopReason === 'length') this.#note('the reply was cut: it reached the most tokens of one reply', 'quiet');
        if (event.usage) this.items.push(cost(event.usage, this.#began ? performance.now() - this.#began : null));
        break;
      case 'error': {
        const [message = '', hint = ''] = (event.error ?? 'there is no answer').split('\nhint: ', 2);
        this.#ended(event.stopped ? undefined : { message, hint });
        if (event.stopped) this.#note('stopped', 'quiet');
        void this.#spent();
        break;
      }
    }
  }

  #worked(event: Events['chat.tool']): void {
    if (event.sessionKey !== this.key) return;
    if (event.state === 'started') {
      this.question = null;
      const call = { id: event.callId, name: event.tool, args: event.args, output: '', result: '', pictures: [] };
      this.items.push(item({ kind: 'tool', ...call, state: 'running', ms: null, began: Date.now(), at: Date.now(), call: event.auditCall ?? null }));
      return;
    }
    const call = this.items.findLast((one) => one.kind === 'tool' && one.id === event.callId && one.state === 'running');
    if (call?.kind !== 'tool') return;
    if (event.state === 'output') {
      call.output = printed(call.output, event.text ?? '');
      return;
    }
    call.call = event.auditCall ?? call.call;
    call.state = event.ok ? 'ok' : 'error';
    call.result = event.shown ?? '';
    call.ms = event.durationMs ?? null;
  }
}

/** A picture with its bytes, wherever they are. */
async function bytesOf(picture: Picture): Promise<Picture> {
  const from = source(picture);
  if (picture.data || !from) return picture;
  const response = await fetch(from, { credentials: 'same-origin' });
  if (!response.ok) throw new Error('a picture of that message is no longer there');
  return { mimeType: picture.mimeType, data: await base64(await response.blob()) };
}

/** Bytes as text that JSON can carry. */
export function base64(blob: Blob): Promise<string> {
  return new Promise((done, fail) => {
    const reader = new FileReader();
    reader.onload = () => done(String(reader.result).split(',', 2)[1] ?? '');
    reader.onerror = () => fail(new Error('the picture cannot be read'));
    reader.readAsDataURL(blob);
  });
}
