// One conversation as it is shown: what was said before, and what comes in. Events may be missed, so
// whenever there is doubt what was said is fetched again: the gateway has it all.
//
// What is fetched and what comes meanwhile overlap: messages have numbers, pieces of a reply say where they
// stand, and calls are known to the audit, so that nothing is shown twice and nothing is left out, whichever comes first.

import { randomId } from '../../lib/browser';
import type { SessionHistoryResult } from '../../generated/protocol';
import { blob, post } from '../../lib/http';
import { live, told } from '../../lib/live.svelte';
import { link } from '../../lib/route.svelte';
import { plain } from '../../lib/safe';
import { CallError, type Events } from '../../lib/socket';
import { isCommand } from './commands';
import { NOTHING, grown, printed, type Growing } from './growing';
import { asked as wanted, cost, hasEnd, item, meant, shown, source, type Item, type Picture, type Said } from './items';

export type Question = { id: string; tool: string; arguments: unknown };

const PAGE = 60;
/** How many events are held while what was said is fetched; should more come, it is fetched again. */
const MOST_HELD = 2_000;
/** Before the first message. */
const NONE = -1;
/** How many ends of runs are remembered. */
const MOST_ENDS = 200;

export class Transcript {
  items = $state<Item[]>([]);
  /** What was said while the agent worked, and waits for its turn. */
  waiting = $state<(Said & { key: number })[]>([]);
  busy = $state(false);
  question = $state.raw<Question | null>(null);
  before = $state<number | null>(null);
  loaded = $state(false);
  error = $state.raw<{ message: string; hint: string } | null>(null);
  /** The session's one spelling, once the gateway said it. */
  key = $state('');
  /** How many commands were done here: they may change what is set. */
  commands = $state(0);
  #said = $state.raw<Growing>(NOTHING);
  #thought = $state.raw<Growing>(NOTHING);
  /** The reply that is being made. */
  #reply = 0;
  /** The run that goes on. */
  #run = '';
  #runs = new Set<string>();
  #ends = new Set<string>();
  /** What is being sent, and not answered yet. */
  #sending = new Set<string>();
  /** The highest number of a message that is shown; they begin with 0. */
  #seen = NONE;
  /** The question that was seen among those that wait. */
  #waiting = '';
  #began = 0;
  #loading: Promise<void> | null = null;
  #again = false;
  #held: (() => void)[] = [];
  #fetching = false;
  #off: (() => void)[];

  /** `named` is told when the conversation got its name. */
  constructor(
    readonly asked: string,
    private readonly named: () => void = () => undefined,
  ) {
    this.key = asked;
    this.#off = [
      live.on('chat', (event) => this.#when(() => this.#heard(event))),
      live.on('chat.tool', (event) => this.#when(() => this.#worked(event))),
      live.on('chat.taken', (event) => this.#when(() => this.#taken(event))),
      live.on('chat.gap', () => void this.load()),
      live.on('session.deleted', (event) => event.sessionKey === this.key && this.#deleted()),
    ];
  }

  end(): void {
    for (const off of this.#off) off();
  }

  /** What is being said right now. */
  get text(): string {
    return this.#said.text;
  }

  get thinking(): string {
    return this.#thought.text;
  }

  /** Fetches the end of the conversation and how it stands. */
  load(): Promise<void> {
    // Whoever asks meanwhile wants what is there now, not what was.
    if (this.#loading) this.#again = true;
    else this.#loading = this.#looks();
    return this.#loading;
  }

  async #looks(): Promise<void> {
    do {
      this.#again = false;
      // What came before this look is in what it finds.
      this.#held = [];
      await this.#look();
    } while (this.#again);
    this.#loading = null;
    const held = this.#held;
    this.#held = [];
    for (const one of held) one();
  }

  /** Does what an event says, or once what was said is there. */
  #when(then: () => void): void {
    if (!this.#loading) then();
    else if (this.#held.length < MOST_HELD) this.#held.push(then);
    else this.#again = true;
  }

  async #look(): Promise<void> {
    try {
      const said = await live.call('session.history', { sessionKey: this.asked, limit: PAGE });
      this.#take(said);
      if (said.running?.approvalId) {
        await live.look();
        const waits = live.approvals.find((one) => one.id === said.running?.approvalId);
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

  #take(told: SessionHistoryResult): void {
    const { running, waiting = [] } = told;
    const flying = this.#own((one) => this.#sending.has(one.run) && !waiting.some((other) => other.runId === one.run));
    const known = new Map(this.waiting.map((one) => [one.run, one]));
    this.key = told.sessionKey;
    this.items = shown(told.messages, told.sessionKey, running?.calls);
    this.#seen = told.messages.at(-1)?.seq ?? NONE;
    this.before = told.nextBefore ?? null;
    this.waiting = waiting.map((one) => known.get(one.runId) ?? mine({ run: one.runId, text: one.text, unseen: one.pictures, at: one.timestamp }));
    this.busy = running !== undefined || waiting.length > 0;
    this.#run = running?.runId ?? '';
    if (running) this.#runs.add(running.runId);
    for (const one of waiting) this.#runs.add(one.runId);
    this.#reply = running?.reply ?? 0;
    this.#said = { text: running?.text ?? '', from: running?.textFrom ?? 0 };
    this.#thought = { text: running?.thinking ?? '', from: running?.thinkingFrom ?? 0 };
    if (!running?.approvalId) this.question = null;
    if (!running) this.#silence();
    // What is on its way is shown until it is known where it stands.
    for (const one of flying) (this.busy && !isCommand(one.text) ? this.waiting : this.items).push(one);
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
    const run = randomId();
    const command = isCommand(text);
    const first = !command && this.#isNew();
    const said = mine({ run, text, pictures, at: Date.now() });
    if (this.busy && !command) this.waiting.push(said);
    else this.items.push(said);
    this.#runs.add(run);
    this.#sending.add(run);
    try {
      if (pictures.length) {
        if (!this.waiting.length) this.#begin();
        // The words with the pictures go by HTTP; what comes of them comes by the socket.
        const sent = pictures.map(({ data = '', mimeType }) => ({ data, mimeType }));
        post('/api/chat', { message: text, pictures: sent, runId: run, sessionKey: this.asked }, { wait: 600 })
          .catch((error: unknown) => !this.#ends.has(run) && this.#failed(run, told(error)))
          .finally(() => this.#sending.delete(run));
        if (first) this.#name(text);
        return true;
      }
      const sent = await live.call('chat.send', { sessionKey: this.asked, message: text, runId: run });
      this.#sending.delete(run);
      if (sent.status === 'command' || sent.status === 'directive-only') {
        const wrong = sent.status === 'command' ? sent.error : undefined;
        this.#move(run, 'items');
        // What changed what was said is seen by looking at it.
        if (command && !wrong && /^\s*\/(new|reset|compact|undo)\b/i.test(text)) await this.load();
        this.#note(wrong ?? sent.response, wrong ? 'bad' : 'quiet');
        this.commands += 1;
      } else {
        if (sent.status === 'paused' || sent.queued) this.#move(run, 'waiting');
        if (!this.#ends.has(run)) this.#begin();
        // A conversation without a name is called by its first words.
        if (first) this.#name(text);
      }
      return true;
    } catch (error) {
      this.#sending.delete(run);
      this.#drop(run);
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
    for (const one of this.items) {
      if (one.kind !== 'tool' || !one.waits) continue;
      one.waits = false;
      one.began = Date.now();
    }
  }

  async stop(): Promise<void> {
    await live.tried(() => live.call('chat.stop', { sessionKey: this.asked }));
  }

  /** Whether nobody said anything in it yet but commands, and nobody gave it a name by its key. */
  #isNew(): boolean {
    const spoken = (one: Item) => one.kind === 'agent' || one.kind === 'tool' || (one.kind === 'user' && !isCommand(one.text));
    return /:talk-[0-9a-f]+$/.test(this.asked) && !this.waiting.length && !this.items.some(spoken);
  }

  #name(text: string): void {
    const label = plain(text.trim().replaceAll('\n', ' '), 60);
    if (label) void live.call('session.patch', { sessionKey: this.asked, label }).then(this.named, () => undefined);
  }

  #begin(): void {
    if (!this.busy) this.#began = performance.now();
    this.busy = true;
  }

  #note(text: string, tone: 'quiet' | 'bad', hint = '', to?: { to: string; text: string }): void {
    this.items.push(item({ kind: 'note', tone, text, hint, ...(to ? { link: to } : {}) }));
  }

  /** What was said here and has no number yet. */
  #own(which: (one: Said & { key: number }) => boolean): (Said & { key: number })[] {
    const all = [...this.items, ...this.waiting];
    return all.filter((one): one is Said & { key: number } => one.kind === 'user' && one.seq === null && one.run !== '' && which(one));
  }

  /** Takes away what was sent as a run and has no number yet. */
  #drop(run: string): (Said & { key: number }) | undefined {
    const [found] = this.#own((one) => one.run === run);
    if (!found) return undefined;
    this.items = this.items.filter((one) => one.key !== found.key);
    this.waiting = this.waiting.filter((one) => one.key !== found.key);
    return found;
  }

  #move(run: string, to: 'items' | 'waiting'): void {
    if (!this.#own((one) => one.run === run).length || (to === 'waiting') === this.waiting.some((one) => one.run === run)) return;
    const found = this.#drop(run);
    if (found) this[to].push(found);
  }

  /** A call whose run is over runs no more, whatever was missed of it. */
  #silence(as: 'ok' | 'error' = 'error'): void {
    for (const one of this.items) {
      if (one.kind !== 'tool' || one.state !== 'running') continue;
      one.state = as;
      one.waits = false;
    }
  }

  #ended(): void {
    this.#commit(this.text);
    this.busy = this.waiting.length > 0;
    this.#run = '';
    this.question = null;
    this.#silence();
  }

  #over(run: string): void {
    if (this.#ends.size >= MOST_ENDS) this.#ends.clear();
    this.#ends.add(run);
  }

  /** A run came to nothing. One that still waited leaves the others alone. */
  #failed(run: string, wrong: { message: string; hint: string }, to?: { to: string; text: string }): void {
    const waited = this.waiting.some((one) => one.run === run);
    this.#move(run, 'items');
    if (!waited) this.#ended();
    else if (!this.#run) this.busy = this.waiting.length > 0;
    this.#note(wrong.message, 'bad', wrong.hint, to);
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
    this.#quiet();
    this.busy = false;
    this.question = null;
    this.before = null;
    this.items = [];
    this.waiting = [];
    this.#seen = NONE;
    this.#run = '';
    this.#note('This conversation was deleted. What is said next begins a new one.', 'quiet');
  }

  /** Nothing is being said. */
  #quiet(): void {
    this.#said = this.#thought = NOTHING;
  }

  #commit(text: string): void {
    if (text.trim()) this.items.push(item({ kind: 'agent', text, at: Date.now() }));
    this.#quiet();
  }

  /** What the agent said, whole: once, also where it was fetched already. Whether it is new. */
  #whole(event: Events['chat']): boolean {
    const seq = event.message?.seq ?? null;
    const fresh = seq === null || seq > this.#seen;
    const text = event.text ?? this.text;
    // The reply after it may have begun already.
    const now = this.#reply <= (event.reply ?? this.#reply);
    if (fresh && text.trim()) this.items.push(item({ kind: 'agent', text, at: Date.now() }));
    if (now) this.#quiet();
    this.#seen = Math.max(this.#seen, seq ?? NONE);
    return fresh;
  }

  #heard(event: Events['chat']): void {
    if (event.sessionKey !== this.key && event.sessionKey !== this.asked) return;
    this.key = event.sessionKey;
    const run = event.runId ?? '';
    if (run && !this.#runs.has(run)) {
      // Somebody else said something here: what it was is in the history, if it was not fetched already.
      this.#runs.add(run);
      if ((event.message?.seq ?? Infinity) > this.#seen) void this.load();
    }
    switch (event.state) {
      case 'delta':
        this.#piece(event, run);
        break;
      case 'partial':
        this.#begin();
        this.#run = run;
        this.#whole(event);
        break;
      case 'paused':
        this.#begin();
        this.#run = run;
        this.question = event.approvalId ? { id: event.approvalId, tool: event.tool ?? '', arguments: event.arguments } : null;
        for (const one of this.items) if (one.kind === 'tool') one.waits = one.state === 'running' && one.id === event.callId;
        break;
      case 'final':
        this.#over(run);
        this.#answered(event, run);
        break;
      case 'error': {
        this.#over(run);
        const waited = this.waiting.some((one) => one.run === run);
        // What was taken in by a run ends with it, which is told next.
        if (!waited && this.#run && run !== this.#run) break;
        const [message = '', hint = ''] = (event.error ?? 'there is no answer').split('\nhint: ', 2);
        if (event.stopped) {
          if (waited) this.#move(run, 'items');
          else this.#ended();
          this.#note('stopped', 'quiet');
        } else if (event.failure === 'not_configured') this.#failed(run, { message, hint: '' }, { to: link('welcome'), text: 'Add a model' });
        else this.#failed(run, { message, hint });
        void this.#spent();
        break;
      }
    }
  }

  /** The next words of a reply. */
  #piece(event: Events['chat'], run: string): void {
    const reply = event.reply ?? this.#reply;
    if (reply < this.#reply) return;
    this.#begin();
    this.#run = run;
    this.question = null;
    if (event.restart && (event.reply === undefined || reply > this.#reply)) {
      this.#quiet();
      this.#note(`begun again: ${event.restart}`, 'quiet');
    }
    if (reply > this.#reply) {
      this.#reply = reply;
      this.#quiet();
    }
    const said = grown(this.#said, event.text ?? '', event.text ? event.offset : null);
    const thought = grown(this.#thought, event.thinking ?? '', event.thinking ? event.thinkingOffset : null);
    this.#said = said;
    this.#thought = thought;
    if (said.gap || thought.gap) void this.load();
  }

  #answered(event: Events['chat'], run: string): void {
    if (event.message?.seq === undefined && hasEnd(this.items, event.text ?? '', event.usage ?? undefined)) {
      this.#quiet();
      this.#ended();
      return;
    }
    const fresh = this.#whole(event);
    // What was taken in by a run ends with it, which is told next.
    if (this.#run && run !== this.#run) return;
    this.#silence('ok');
    this.#ended();
    if (fresh && event.stopReason === 'length') this.#note('the reply was cut: it reached the most tokens of one reply', 'quiet');
    const last = this.items.at(-1);
    const known = last?.kind === 'cost' && JSON.stringify(last.used) === JSON.stringify(event.usage);
    if (event.usage && !known) this.items.push(cost(event.usage, this.#began ? performance.now() - this.#began : null));
  }

  /** What somebody said has its turn now, and its place. */
  #taken(event: Events['chat.taken']): void {
    if (event.sessionKey !== this.key && event.sessionKey !== this.asked) return;
    this.key = event.sessionKey;
    this.#runs.add(event.runId);
    const before = this.#drop(event.runId);
    const seq = event.message.seq ?? NONE;
    if (seq > this.#seen) {
      this.#seen = seq;
      const [said] = shown([event.message], event.sessionKey);
      // The pictures that are here need not be fetched.
      if (said?.kind === 'user') this.items.push(before ? { ...said, key: before.key, ...(before.pictures.length ? { pictures: before.pictures, unseen: 0 } : {}) } : said);
    }
    this.#run = event.into ?? event.runId;
    this.#begin();
  }

  #worked(event: Events['chat.tool']): void {
    if (event.sessionKey !== this.key) return;
    const same = (one: Item) => one.kind === 'tool' && one.id === event.callId && (!one.call || !event.auditCall || one.call === event.auditCall);
    if (event.state === 'started') {
      if (event.auditCall && this.items.some((one) => one.kind === 'tool' && one.call === event.auditCall)) return;
      this.#begin();
      this.question = null;
      let call = this.items.findLast((one) => same(one) && one.kind === 'tool' && one.state === 'running' && one.began === null);
      if (call?.kind !== 'tool') {
        this.items.push(wanted({ id: event.callId, name: event.tool, args: event.args, at: Date.now() }));
        call = this.items.at(-1);
      }
      if (call?.kind !== 'tool') return;
      call.call = event.auditCall ?? null;
      call.began = Date.now();
      return;
    }
    const call = this.items.findLast((one) => same(one) && one.kind === 'tool' && one.state === 'running');
    if (call?.kind !== 'tool') return;
    if (event.state === 'output') {
      call.output = printed(call.output, event.text ?? '', event.offset);
      return;
    }
    call.call = event.auditCall ?? call.call;
    call.state = event.ok ? 'ok' : 'error';
    call.waits = false;
    call.result = event.shown ?? '';
    call.ms = event.durationMs ?? null;
  }
}

/** What is said here. */
function mine(said: { run: string; text: string; at: number; pictures?: Picture[]; unseen?: number }): Said & { key: number } {
  return item({ kind: 'user', seq: null, from: '', pictures: [], unseen: 0, ...said }) as Said & { key: number };
}

/** A picture with its bytes, wherever they are. */
async function bytesOf(picture: Picture): Promise<Picture> {
  const from = source(picture);
  if (picture.data || !from) return picture;
  return { mimeType: picture.mimeType, data: await base64(await blob(from)) };
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
