// What a conversation is made of, as it is shown, and how it is read from the history.

import type { ChatBlock, ChatMessage, ChatUsage } from '../../generated/protocol';

/** A picture: its bytes, or where in this gateway they are. */
export type Picture = { mimeType: string; data?: string; url?: string };

export type Said = { kind: 'user'; seq: number | null; text: string; from: string; at: number | null; pictures: Picture[]; unseen: number };
export type Call = {
  kind: 'tool';
  id: string;
  name: string;
  args: unknown;
  state: 'running' | 'ok' | 'error';
  /** What it printed so far. */
  output: string;
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
  | { kind: 'note'; tone: 'quiet' | 'bad'; text: string; hint: string }
);
type Bare<T> = T extends unknown ? Omit<T, 'key'> : never;
export type Fresh = Bare<Item>;

let made = 0;

/** An item of the page, told apart from all others for as long as the page is open. */
export function item(of: Fresh): Item {
  made += 1;
  return { ...of, key: made };
}

/** The most that is kept of what a running tool prints. */
const LONGEST = 20_000;

/** What was printed and the next piece, of which the end is kept. */
export function printed(before: string, piece: string): string {
  const all = before + piece;
  return all.length > LONGEST ? all.slice(all.length - LONGEST) : all;
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

/** Messages of a session's history as they are shown. */
export function shown(messages: ChatMessage[], session: string): Item[] {
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
      return;
    }
    if (message.role === 'user') {
      items.push(item({ kind: 'user', seq: message.seq ?? null, ...unfenced(text), at, ...picturesOf(message.content, session) }));
      return;
    }
    if (text.trim()) items.push(item({ kind: 'agent', text, at }));
    for (const block of message.content) {
      if (block.type !== 'toolCall') continue;
      const call = item({ kind: 'tool', id: block.id, name: block.name, args: block.arguments, state: 'running', output: '', result: '', pictures: [], ms: null, began: null, at, call: null }) as Call & { key: number };
      open.set(block.id, call);
      items.push(call);
    }
  };
  for (const message of messages) {
    take(message);
    if (message.usage) items.push(cost(message.usage));
  }
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
