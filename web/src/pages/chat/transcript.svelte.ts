// One conversation as it is shown: what was said before, and what comes in. Events may be missed, so
// whenever there is doubt what was said is fetched again: the gateway has it all.
//
// What is fetched and what comes meanwhile overlap: messages have numbers, pieces of a reply say where they
// stand, and calls are known to the audit, so that nothing is shown twice and nothing is left out, whichever comes first.

import '../../texts/use/chat';
import { randomId } from '../../lib/browser';
import type { SessionHistoryResult } from '../../generated/protocol';
import { blob, post } from '../../lib/http';
import { live, told } from '../../lib/live.svelte';
import { t } from '../../lib/i18n';
import { link } from '../../lib/route.svelte';
import { CallError, type Events } from '../../lib/socket';
import { artifactsIn, withFiles } from './attached';
import { isCommand } from './commands';
import { NOTHING, grown, printed, type Growing } from './growing';
import { asked as wanted, cost, ended, failure, hasEnd, item, meant, picturesAt, shown, source, type Failed, type Item, type Picture, type Reply, type Said } from './items';
import { onEvent, type ChatEvent, type Message, type RunningCall, type ToolEvent } from './wire';

export type Question = { id: string; tool: string; arguments: unknown };

const PAGE = 60;
/** How many messages are fetched at once on the way to one that was searched for. */
const LARGE_PAGE = 500;
/** The gateway sends the beginning of a result while a turn runs: so many characters. */
const SHOWN = 2_000;
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

  /** `begun` is told the first words of a conversation, by which it is called until it has a title. */
  constructor(
    readonly asked: string,
    private readonly begun: (words: string) => void = () => undefined,
  ) {
    this.key = asked;
    this.#off = [
      onEvent<ChatEvent>('chat', (event) => this.#when(() => this.#heard(event))),
      onEvent<ToolEvent>('chat.tool', (event) => this.#when(() => this.#worked(event))),
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
    this.items = shown(told.messages as Message[], told.sessionKey, running?.calls as RunningCall[] | undefined);
    this.#seen = told.messages.at(-1)?.seq ?? NONE;
    this.before = told.nextBefore ?? null;
    this.waiting = waiting.map((one) => known.get(one.runId) ?? mine({ run: one.runId, ...artifactsIn(one.text), unseen: one.pictures, at: one.timestamp }));
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
  async earlier(limit = PAGE): Promise<boolean> {
    if (this.before === null || this.#fetching) return false;
    this.#fetching = true;
    const said = await live.tried(() => live.call('session.history', { sessionKey: this.asked, limit, before: this.before }));
    this.#fetching = false;
    if (!said) return false;
    this.items = [...shown(said.messages as Message[], said.sessionKey), ...this.items];
    this.before = said.nextBefore ?? null;
    return true;
  }

  /** The item that holds a message, fetching back to it. */
  async reach(seq: number): Promise<Item | undefined> {
    const number = (one: Item) => ('seq' in one ? one.seq : null);
    const oldest = () => this.items.map(number).find((one) => one !== null) ?? Infinity;
    while (this.before !== null && oldest() > seq) if (!(await this.earlier(LARGE_PAGE))) break;
    return this.items.find((one) => number(one) === seq) ?? this.items.findLast((one) => (number(one) ?? Infinity) < seq);
  }

  /** All messages there are, for an export. */
  async everything(): Promise<Item[]> {
    while (this.before !== null) if (!(await this.earlier(LARGE_PAGE))) break;
    return this.items;
  }

  /** Fills in what live events leave out of results: all but their beginning, and from an older gateway the pictures. */
  async complete(): Promise<void> {
    const lacking = this.items.filter((one) => one.kind === 'tool' && one.partial);
    if (!lacking.length) return;
    const said = await live.call('session.history', { sessionKey: this.asked, limit: PAGE }).catch(() => null);
    const known = shown((said?.messages ?? []) as Message[], this.key).filter((one) => one.kind === 'tool' && one.state !== 'running');
    for (const one of lacking) {
      if (one.kind !== 'tool') continue;
      const whole = known.findLast((other) => other.kind === 'tool' && other.id === one.id && (!one.call || !other.call || other.call === one.call));
      if (whole?.kind !== 'tool') continue;
      const { result, pictures, exit, diff, seq } = whole;
      Object.assign(one, { result, pictures, exit, diff: diff || one.diff, seq, partial: false });
    }
  }

  /** Says something. Whether it was taken. */
  async send(text: string, pictures: Picture[]): Promise<boolean> {
    const run = randomId();
    const command = isCommand(text);
    const first = !command && this.#isNew();
    const said = mine({ run, ...artifactsIn(text), pictures, at: Date.now() });
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
        if (first) this.begun(said.text);
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
        if (first) this.begun(said.text);
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
    const { text: words, pictures, files } = mine;
    if (mine.seq === null) {
      // What was said a moment ago has its number in the history.
      await this.load();
      mine = meant(this.items, words);
    }
    if (mine?.kind !== 'user' || mine.seq === null) {
      live.fail(new Error(t('chat.messageGone')));
      return false;
    }
    const { seq } = mine;
    const kept = await live.tried(() => Promise.all(pictures.map(bytesOf)));
    if (!kept) return false;
    const done = await live.tried(() => live.call('session.rewind', { sessionKey: this.asked, seq }));
    if (!done) return false;
    await this.load();
    return this.send(withFiles(text, files), kept);
  }

  /** Sends the message again that an answer or a failure belongs to: the last one before it. */
  async again(key: number): Promise<boolean> {
    const at = this.items.findIndex((one) => one.key === key);
    const before = this.items.slice(0, at < 0 ? this.items.length : at).findLast((one) => one.kind === 'user' && !isCommand(one.text));
    return before?.kind === 'user' ? this.resend(before.key, before.text) : false;
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
      one.waited = one.began === null ? 0 : Date.now() - one.began;
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

  #begin(): void {
    if (!this.busy) this.#began = performance.now();
    this.busy = true;
  }

  #note(text: string, tone: 'quiet' | 'bad'): void {
    this.items.push(item({ kind: 'note', tone, text }));
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
  #silence(as: 'ok' | 'stopped' = 'stopped'): void {
    for (const one of this.items) {
      if (one.kind !== 'tool' || one.state !== 'running') continue;
      one.state = as;
      one.waits = false;
    }
  }

  #ended(stopped = false): void {
    this.#commit(stopped);
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
  #failed(run: string, wrong: Partial<Failed> & { message: string; hint: string }): void {
    const waited = this.waiting.some((one) => one.run === run);
    this.#move(run, 'items');
    if (!waited) this.#ended();
    else if (!this.#run) this.busy = this.waiting.length > 0;
    this.items.push(item<Failed>({ kind: 'error', code: '', retryable: true, ...wrong }));
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
    this.#note(t('chat.wasDeleted'), 'quiet');
  }

  /** Nothing is being said. */
  #quiet(): void {
    this.#said = this.#thought = NOTHING;
  }

  #commit(stopped: boolean): void {
    const { text, thinking } = this;
    if (text.trim() || thinking || stopped) this.items.push(item<Reply>({ kind: 'agent', text, thinking, stopped, at: Date.now(), seq: null }));
    this.#quiet();
  }

  /** What the agent said, whole: once, also where it was fetched already. Whether it is new. */
  #whole(event: ChatEvent): boolean {
    const seq = event.message?.seq ?? null;
    const fresh = seq === null || seq > this.#seen;
    const text = event.text ?? this.text;
    // The reply after it may have begun already.
    const now = this.#reply <= (event.reply ?? this.#reply);
    const thinking = now ? this.thinking : '';
    if (fresh && (text.trim() || thinking)) this.items.push(item<Reply>({ kind: 'agent', text, thinking, stopped: false, at: Date.now(), seq }));
    if (now) this.#quiet();
    this.#seen = Math.max(this.#seen, seq ?? NONE);
    return fresh;
  }

  #heard(event: ChatEvent): void {
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
        if (event.stopped) {
          if (waited) {
            this.#move(run, 'items');
            this.#note(t('common.stopped'), 'quiet');
          } else this.#ended(true);
        } else {
          const told = typeof event.error === 'object' && event.error ? event.error : { code: event.code ?? '', message: event.error ?? t('chat.noReply'), retryable: event.retryable ?? true };
          const setup = event.failure === 'not_configured' ? { link: { to: link('welcome'), text: t('chat.addModel') }, hint: '' } : {};
          this.#failed(run, { ...failure(told), ...setup });
        }
        void this.complete();
        void this.#spent();
        break;
      }
    }
  }

  /** The next words of a reply. */
  #piece(event: ChatEvent, run: string): void {
    const reply = event.reply ?? this.#reply;
    if (reply < this.#reply) return;
    this.#begin();
    this.#run = run;
    this.question = null;
    if (event.restart && (event.reply === undefined || reply > this.#reply)) {
      this.#quiet();
      this.#note(t('chat.retrying', { reason: event.restart }), 'quiet');
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

  #answered(event: ChatEvent, run: string): void {
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
    if (fresh && event.stopReason === 'length') this.#note(t('chat.replyCut'), 'quiet');
    const last = this.items.at(-1);
    const known = last?.kind === 'cost' && JSON.stringify(last.used) === JSON.stringify(event.usage);
    if (event.usage && !known) this.items.push(cost(event.usage, this.#began ? performance.now() - this.#began : null));
    void this.complete();
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
      const [said] = shown([event.message as Message], event.sessionKey);
      // The pictures that are here need not be fetched.
      if (said?.kind === 'user') this.items.push(before ? { ...said, key: before.key, ...(before.pictures.length ? { pictures: before.pictures, unseen: 0 } : {}) } : said);
    }
    this.#run = event.into ?? event.runId;
    this.#begin();
  }

  #worked(event: ToolEvent): void {
    if (event.sessionKey !== this.key) return;
    const same = (one: Item) => one.kind === 'tool' && one.id === event.callId && (!one.call || !event.auditCall || one.call === event.auditCall);
    if (event.state === 'started') {
      if (event.auditCall && this.items.some((one) => one.kind === 'tool' && one.call === event.auditCall)) return;
      this.#begin();
      this.question = null;
      let call: Item | undefined = this.items.findLast((one) => same(one) && one.kind === 'tool' && one.state === 'running' && one.began === null);
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
    const result = event.shown ?? '';
    const allowed = call.waited !== null;
    ended(call, { ...event, ok: event.ok === true, result });
    // An older gateway counts the time that the owner took: it is known here when the call was allowed.
    if (allowed && event.waitedMs === undefined && call.ms !== null && call.began !== null) call.ms = Math.min(call.ms, Math.max(0, Date.now() - call.began));
    call.pictures = picturesAt(event.pictures ?? [], this.key).pictures;
    call.partial = result.length >= SHOWN || (event.outcome === undefined && event.pictures === undefined);
  }
}

/** What is said here. */
function mine(said: Pick<Said, 'run' | 'text' | 'at'> & Partial<Said>): Said & { key: number } {
  return item<Said>({ kind: 'user', seq: null, from: '', pictures: [], unseen: 0, files: [], ...said });
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
    reader.onerror = () => fail(new Error(t('chat.pictureUnreadable')));
    reader.readAsDataURL(blob);
  });
}
