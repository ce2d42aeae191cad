// What a conversation is made of, as it is shown, and how it is read from the history.

import type { ChatUsage } from '../../generated/protocol';
import { artifactsIn } from './attached';
import { NOTHING, type Growing } from './growing';
import { exitOf, valueOf } from './results';
import type { Block, Ended, Message, Outcome, PictureRef, RunningCall, TurnError } from './wire';

/** A picture: its bytes, or where in this gateway they are. */
export type Picture = { mimeType: string; data?: string; url?: string };
/** A file that was sent along: an artifact. */
export type Attached = { name: string; id: string };

export type Said = {
  kind: 'user';
  seq: number | null;
  /** By which it was sent, until it has its number. */
  run: string;
  text: string;
  from: string;
  at: number | null;
  pictures: Picture[];
  unseen: number;
  files: Attached[];
};
export type Call = {
  kind: 'tool';
  id: string;
  name: string;
  args: unknown;
  state: 'running' | Outcome;
  /** Whether the owner is asked about it. */
  waits: boolean;
  /** What it printed so far, or the end of that. */
  output: Growing;
  result: string;
  /** Whether `result` may be only the beginning, and pictures may be missing. */
  partial: boolean;
  exit: number | null;
  diff: string;
  pictures: Picture[];
  /** How long it ran, without the time it waited for the owner. */
  ms: number | null;
  waited: number | null;
  began: number | null;
  at: number | null;
  /** By which the audit knows it. */
  call: string | null;
  /** The message that holds its result. */
  seq: number | null;
};
export type Reply = { kind: 'agent'; text: string; at: number | null; seq: number | null; thinking: string; stopped: boolean };
export type Failed = { kind: 'error'; message: string; hint: string; code: string; retryable: boolean; link?: { to: string; text: string } };
export type Cost = { kind: 'cost'; used: ChatUsage; ms: number | null };
export type Item = { key: number } & (Said | Reply | Call | Failed | Cost | { kind: 'note'; tone: 'quiet' | 'bad'; text: string });
type Bare<T> = T extends unknown ? Omit<T, 'key'> : never;
export type Fresh = Bare<Item>;

let made = 0;

/** An item of the page, told apart from all others for as long as the page is open. */
export function item<T extends Fresh>(of: T): T & { key: number } {
  made += 1;
  return { ...of, key: made };
}

/** The last lines of a text. */
export function tail(text: string, lines: number): string {
  const all = text.replace(/\n+$/, '').split('\n');
  return all.slice(-lines).join('\n');
}

const SHOWN = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

/** Where a picture is found, or nothing where it may not be looked at. */
export function source(picture: Picture): string {
  if (!SHOWN.has(picture.mimeType)) return '';
  if (picture.data) return `data:${picture.mimeType};base64,${picture.data}`;
  // Only this gateway's own: nothing that was said leads elsewhere.
  return /^\/(?:api|artifacts)\/[^\\]*$/.test(picture.url ?? '') ? (picture.url ?? '') : '';
}

function pictureAt(ref: PictureRef, session: string): Picture {
  const { mimeType, ref: at } = typeof ref === 'string' ? { mimeType: 'image/png', ref } : ref;
  return { mimeType, ...(/^\d+\/\d+$/.test(at ?? '') ? { url: `/api/sessions/${encodeURIComponent(session)}/pictures/${at}` } : {}) };
}

/** Pictures by where the gateway keeps them, and how many cannot be shown. */
export function picturesAt(refs: PictureRef[], session: string): { pictures: Picture[]; unseen: number } {
  const pictures = refs.map((ref) => pictureAt(ref, session)).filter((one) => source(one));
  return { pictures, unseen: refs.length - pictures.length };
}

const picturesOf = (blocks: Block[], session: string) => picturesAt(blocks.flatMap((block) => (block.type === 'image' ? [block] : [])), session);

/** What a model was told as data, without the fence around it, and who it came from. */
export function unfenced(text: string): { text: string; from: string } {
  const whole = /^<data source="([^"]*)">\n([\s\S]*)\n<\/data>\s*$/.exec(text);
  return whole ? { text: whole[2] ?? '', from: whole[1] ?? '' } : { text, from: '' };
}

/** What a turn used up, as it is shown after it; `ms` where the gateway does not say how long it took. */
export function cost(used: ChatUsage, ms: number | null = null): Item {
  return item({ kind: 'cost', used, ms: used.durationMs ?? ms });
}

/** A call that nothing is known of but that it is wanted. */
export function asked(call: { id: string; name: string; args: unknown; at: number | null }): Call & { key: number } {
  return item<Call>({ kind: 'tool', ...call, state: 'running', waits: false, output: NOTHING, result: '', partial: false, exit: null, diff: '', pictures: [], ms: null, waited: null, began: null, call: null, seq: null });
}

/** An older gateway does not say that the owner or a rule refused a call; its message does. */
const DENIED = /^the owner denied this call of |^\S+ is refused by /;

/** Says what came of a call. */
export function ended(call: Call, how: Ended & { ok: boolean; result: string; durationMs?: number | null | undefined }): void {
  call.result = how.result;
  call.exit = how.exitCode ?? exitOf(valueOf(how.result));
  call.diff = how.diff ?? '';
  call.waited = how.waitedMs ?? call.waited;
  call.ms = how.durationMs ?? null;
  call.waits = false;
  // A program that ends with another code than 0 failed, though calling it worked.
  const fell = how.ok && call.exit !== null && call.exit !== 0;
  call.state = how.outcome ?? (fell ? 'failed' : how.ok ? 'ok' : DENIED.test(how.result) ? 'denied' : 'failed');
  if (call.state === 'ok' && fell) call.state = 'failed';
}

/** Says of the calls that have no result yet where they stand in the run that goes on. */
function stand(open: Call[], running: RunningCall[], session: string, now: number): void {
  const left = [...open];
  for (const one of running) {
    const at = left.findIndex((call) => call.id === one.callId);
    const call = left[at];
    if (!call) continue;
    left.splice(at, 1);
    call.call = one.auditCall ?? null;
    call.began = now - one.elapsedMs;
    call.waits = one.waits;
    call.output = { text: one.output ?? '', from: one.outputFrom };
    if (one.ok === undefined || one.ok === null) continue;
    ended(call, { ...one, ok: one.ok, result: one.shown ?? '' });
    call.partial = true;
    call.pictures = picturesAt(one.pictures ?? [], session).pictures;
  }
}

/** A failure of a turn, as it is shown. */
export function failure(error: TurnError): Failed & { key: number } {
  const [message = '', hint = ''] = error.message.split('\nhint: ', 2);
  return item<Failed>({ kind: 'error', message, hint, code: error.code, retryable: error.retryable ?? true });
}

/** Messages of a session's history as they are shown, with where the calls of the run stand that goes on. */
export function shown(messages: Message[], session: string, running: RunningCall[] = [], now = Date.now()): Item[] {
  const items: Item[] = [];
  const open = new Map<string, Call>();
  const take = (message: Message) => {
    const at = message.timestamp ?? null;
    const text = message.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
    if (message.role === 'toolResult') {
      const call = open.get(message.toolCallId ?? '');
      if (!call) return;
      open.delete(call.id);
      ended(call, { ...message, ok: !message.isError, result: unfenced(text).text });
      call.pictures = picturesOf(message.content, session).pictures;
      call.call = message.auditCall ?? null;
      call.seq = message.seq ?? null;
      return;
    }
    if (message.role === 'user') {
      const { text: words, from } = unfenced(text);
      items.push(item({ kind: 'user', seq: message.seq ?? null, run: '', ...artifactsIn(words), from, at, ...picturesOf(message.content, session) }));
      return;
    }
    const thinking = message.content.map((block) => (block.type === 'thinking' ? block.thinking : '')).filter(Boolean).join('\n\n');
    if (text.trim() || thinking || (message.stopped && !message.error)) items.push(item({ kind: 'agent', text, at, seq: message.seq ?? null, thinking, stopped: message.stopped === true }));
    for (const block of message.content) {
      if (block.type !== 'toolCall') continue;
      const call = asked({ id: block.id, name: block.name, args: block.arguments, at });
      open.set(block.id, call);
      items.push(call);
    }
  };
  for (const message of messages) {
    take(message);
    if (message.error) items.push(failure(message.error));
    if (message.usage) items.push(cost(message.usage));
  }
  stand([...open.values()], running, session, now);
  return items;
}

/** Whether the history that was fetched had the end of a run already, whose event comes only now. */
export function hasEnd(items: Item[], text: string, used: ChatUsage | undefined): boolean {
  const [said, last] = items.slice(-2);
  return last?.kind === 'cost' && said?.kind === 'agent' && said.text === text && used?.durationMs !== undefined && last.ms === used.durationMs;
}

/** Which message of the history somebody means who sees an item without a number: the last one with its words. */
export function meant(items: Item[], text: string): (Said & { key: number }) | undefined {
  const found = items.findLast((one) => one.kind === 'user' && one.text === text && one.seq !== null);
  return found?.kind === 'user' ? found : undefined;
}
