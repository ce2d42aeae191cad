// What a conversation is made of, as it is shown, and how it is read from the history.

import type { ChatBlock, ChatMessage, ChatUsage, SessionRunningCall } from '../../generated/protocol';
import { NOTHING, type Growing } from './growing';

/** A picture: its bytes, or where in this gateway they are. */
export type Picture = { mimeType: string; data?: string; url?: string };

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
};
export type Call = {
  kind: 'tool';
  id: string;
  name: string;
  args: unknown;
  state: 'running' | 'ok' | 'error';
  /** Whether the owner is asked about it. */
  waits: boolean;
  /** What it printed so far, or the end of that. */
  output: Growing;
  result: string;
  pictures: Picture[];
  ms: number | null;
  began: number | null;
  at: number | null;
  /** By which the audit knows it. */
  call: string | null;
};
export type Item = { key: number } & (
  | Said
  | { kind: 'agent'; text: string; at: number | null }
  | Call
  | { kind: 'cost'; used: ChatUsage; ms: number | null }
  | { kind: 'note'; tone: 'quiet' | 'bad'; text: string; hint: string; link?: { to: string; text: string } }
);
type Bare<T> = T extends unknown ? Omit<T, 'key'> : never;
export type Fresh = Bare<Item>;

let made = 0;

/** An item of the page, told apart from all others for as long as the page is open. */
export function item(of: Fresh): Item {
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

/** The pictures of a message, each with where its bytes are, and how many cannot be shown. */
function picturesOf(blocks: ChatBlock[], session: string): { pictures: Picture[]; unseen: number } {
  const all = blocks.filter((block) => block.type === 'image');
  const found = all.map((block): Picture => ({ mimeType: block.mimeType, ...(/^\d+\/\d+$/.test(block.ref ?? '') ? { url: `/api/sessions/${encodeURIComponent(session)}/pictures/${block.ref}` } : {}) }));
  const pictures = found.filter((one) => source(one));
  return { pictures, unseen: all.length - pictures.length };
}

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
  return item({ kind: 'tool', ...call, state: 'running', waits: false, output: NOTHING, result: '', pictures: [], ms: null, began: null, call: null }) as Call & { key: number };
}

/** Says of the calls that have no result yet where they stand in the run that goes on. */
function stand(open: Call[], running: SessionRunningCall[], now: number): void {
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
    call.state = one.ok ? 'ok' : 'error';
    call.result = one.shown ?? '';
    call.ms = one.durationMs ?? null;
  }
}

/** Messages of a session's history as they are shown, with where the calls of the run stand that goes on. */
export function shown(messages: ChatMessage[], session: string, running: SessionRunningCall[] = [], now = Date.now()): Item[] {
  const items: Item[] = [];
  const open = new Map<string, Call>();
  const take = (message: ChatMessage) => {
    const at = message.timestamp ?? null;
    const text = message.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
    if (message.role === 'toolResult') {
      const call = open.get(message.toolCallId ?? '');
      if (!call) return;
      open.delete(call.id);
      call.state = message.isError ? 'error' : 'ok';
      call.result = unfenced(text).text;
      call.pictures = picturesOf(message.content, session).pictures;
      call.ms = message.durationMs ?? null;
      call.call = message.auditCall ?? null;
      return;
    }
    if (message.role === 'user') {
      items.push(item({ kind: 'user', seq: message.seq ?? null, run: '', ...unfenced(text), at, ...picturesOf(message.content, session) }));
      return;
    }
    if (text.trim()) items.push(item({ kind: 'agent', text, at }));
    for (const block of message.content) {
      if (block.type !== 'toolCall') continue;
      const call = asked({ id: block.id, name: block.name, args: block.arguments, at });
      open.set(block.id, call);
      items.push(call);
    }
  };
  for (const message of messages) {
    take(message);
    if (message.usage) items.push(cost(message.usage));
  }
  stand([...open.values()], running, now);
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
