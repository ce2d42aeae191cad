import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { SessionHistoryResult } from '../src/generated/protocol';

const KEY = 'agent:main:talk-a1';
/** A gateway that says what it is told to say. */
const world = vi.hoisted(() => ({
  listeners: new Map<string, (event: unknown) => void>(),
  calls: [] as { method: string; params: unknown; done: (value: unknown) => void; fail: (error: unknown) => void }[],
}));
vi.mock('../src/lib/live.svelte', () => ({
  told: (error: Error) => ({ message: error.message, hint: '' }),
  live: {
    approvals: [],
    on: (event: string, listener: (event: unknown) => void) => (world.listeners.set(event, listener), () => undefined),
    call: (method: string, params: unknown) => new Promise((done, fail) => world.calls.push({ method, params, done, fail })),
    look: () => Promise.resolve(),
    fail: () => undefined,
    tried: (what: () => Promise<unknown>) => what(),
  },
}));
vi.mock('../src/lib/route.svelte', () => ({ link: (to: string) => `#/${to}` }));

const { Transcript } = await import('../src/pages/chat/transcript.svelte');

const user = (seq: number, text: string) => ({ role: 'user' as const, seq, content: [{ type: 'text' as const, text }] });
const agent = (seq: number, text: string) => ({ role: 'assistant' as const, seq, content: [{ type: 'text' as const, text }] });
const history = (more: Partial<SessionHistoryResult>): SessionHistoryResult => ({ sessionKey: KEY, currentSessionId: 's', previousSessionIds: [], messages: [], ...more });
const running = (more: object) => ({ runId: 'r', reply: 1, text: '', textFrom: 0, thinking: '', thinkingFrom: 0, ...more });
const hear = (event: string, payload: object) => world.listeners.get(event)?.({ sessionKey: KEY, ...payload });
const chat = (payload: object) => hear('chat', { runId: 'r', ...payload });
/** Answers the oldest call that waits. */
async function answer(value: unknown) {
  const call = world.calls.shift();
  call?.done(value);
  await new Promise((done) => setTimeout(done));
  return call;
}
async function opened(told: Partial<SessionHistoryResult> = {}, begun?: (words: string) => void) {
  const talk = new Transcript(KEY, begun);
  const loading = talk.load();
  await answer(history(told));
  await loading;
  return talk;
}
type Talk = Awaited<ReturnType<typeof opened>>;
const words = (talk: Talk) => talk.items.flatMap((one) => (one.kind === 'user' || one.kind === 'agent' || one.kind === 'note' ? [`${one.kind}: ${one.text}`] : [one.kind]));

beforeEach(() => {
  world.calls.length = 0;
});

describe('whoever comes to a reply that is being made', () => {
  it('sees it from its beginning, and each piece once, whichever comes first', async () => {
    const pieces = ['one ', 'two ', 'three ', 'four'];
    const at = (piece: number) => pieces.slice(0, piece).join('').length;
    // The look has the first two pieces; the events of some more came before it, and the others after.
    for (const early of [0, 1, 2, 3, 4]) {
      for (const from of [0, 1, 2].filter((one) => one <= early)) {
        const talk = new Transcript(KEY);
        const loading = talk.load();
        for (let piece = from; piece < early; piece += 1) chat({ state: 'delta', reply: 1, text: pieces[piece], offset: at(piece) });
        await answer(history({ messages: [user(1, 'go')], running: running({ text: 'one two ' }) }));
        await loading;
        for (let piece = Math.max(from, early); piece < 4; piece += 1) chat({ state: 'delta', reply: 1, text: pieces[piece], offset: at(piece) });
        expect(talk.text, `${from} ${early}`).toBe('one two three four');
        expect(talk.busy).toBe(true);
        expect(world.calls, 'nothing was missing').toEqual([]);
      }
    }
  });
  it('looks again when something is missing', async () => {
    const talk = await opened({ messages: [user(1, 'go')], running: running({ text: 'one ' }) });
    chat({ state: 'delta', reply: 1, text: 'four', offset: 14 });
    await answer(history({ messages: [user(1, 'go')], running: running({ text: 'one two three four' }) }));
    expect(talk.text).toBe('one two three four');
  });
  it('does not see twice what became a message meanwhile', async () => {
    const talk = new Transcript(KEY);
    const loading = talk.load();
    chat({ state: 'partial', reply: 1, text: 'I look.', message: agent(2, 'I look.') });
    chat({ state: 'delta', reply: 2, text: 'Well', offset: 0 });
    await answer(history({ messages: [user(1, 'go'), agent(2, 'I look.')], running: running({ text: 'I look.' }) }));
    await loading;
    expect(words(talk)).toEqual(['user: go', 'agent: I look.']);
    expect(talk.text).toBe('Well');
  });
  it('sees what became a message after the records were read', async () => {
    const talk = new Transcript(KEY);
    const loading = talk.load();
    chat({ state: 'partial', reply: 1, text: 'I look.', message: agent(2, 'I look.') });
    await answer(history({ messages: [user(1, 'go')], running: running({ reply: 2, text: 'Well' }) }));
    await loading;
    expect(words(talk)).toEqual(['user: go', 'agent: I look.']);
    expect(talk.text, 'the reply after it goes on').toBe('Well');
  });
  it('sees the end once, with what it cost, and nothing works then', async () => {
    const usage = { replies: 1, inputTokens: 1, outputTokens: 1, costMicros: 0, durationMs: 7 };
    for (const inside of [true, false]) {
      const talk = new Transcript(KEY);
      const loading = talk.load();
      chat({ state: 'final', reply: 1, text: 'done', message: agent(2, 'done'), usage });
      const told = inside ? { messages: [user(1, 'go'), { ...agent(2, 'done'), usage }] } : { messages: [user(1, 'go')], running: running({ text: 'do' }) };
      await answer(history(told));
      await loading;
      expect(words(talk)).toEqual(['user: go', 'agent: done', 'cost']);
      expect([talk.busy, talk.text]).toEqual([false, '']);
    }
  });
  it('sees a call once, whether the records had it or not', async () => {
    const asks = { role: 'assistant' as const, seq: 2, content: [{ type: 'toolCall' as const, id: 'c', name: 'look', arguments: {} }] };
    for (const messages of [[user(1, 'go'), asks], [user(1, 'go')]]) {
      const talk = new Transcript(KEY);
      const loading = talk.load();
      hear('chat.tool', { runId: 'r', callId: 'c', tool: 'look', state: 'started', args: {}, auditCall: 'x' });
      await answer(history({ messages, running: running({}) }));
      await loading;
      hear('chat.tool', { runId: 'r', callId: 'c', tool: 'look', state: 'started', args: {}, auditCall: 'x' });
      hear('chat.tool', { runId: 'r', callId: 'c', tool: 'look', state: 'done', ok: true, shown: 'seven', durationMs: 4, auditCall: 'x' });
      hear('chat.tool', { runId: 'r', callId: 'c', tool: 'look', state: 'started', args: {}, auditCall: 'x' });
      expect(talk.items.filter((one) => one.kind === 'tool')).toMatchObject([{ state: 'ok', ms: 4, result: 'seven' }]);
    }
  });
});

describe('what is said while the agent works', () => {
  it('waits below, and stands before its answer once it has its turn', async () => {
    const talk = await opened({ messages: [user(1, 'first')], running: running({ text: 'The first' }) });
    const sent = talk.send('second', []);
    const call = await answer({ status: 'started', runId: 'r2', queued: true });
    await sent;
    const run = (call?.params as { runId: string }).runId;
    expect(talk.waiting.map((one) => one.text)).toEqual(['second']);
    expect(words(talk)).toEqual(['user: first']);
    chat({ state: 'final', reply: 1, text: 'The first answer', message: agent(2, 'The first answer') });
    expect(talk.busy, 'another waits').toBe(true);
    hear('chat.taken', { runId: run, message: user(3, 'second') });
    chat({ runId: run, state: 'final', reply: 2, text: 'The second answer', message: agent(4, 'The second answer') });
    expect(words(talk)).toEqual(['user: first', 'agent: The first answer', 'user: second', 'agent: The second answer']);
    expect([talk.busy, talk.waiting.length]).toEqual([false, 0]);
  });
  it('is there for whoever comes later, and when a run takes it in it ends with that', async () => {
    const talk = await opened({ messages: [user(1, 'first')], running: running({}), waiting: [{ runId: 'w', text: 'and this', pictures: 0, timestamp: 5 }] });
    expect(talk.waiting.map((one) => one.text)).toEqual(['and this']);
    hear('chat.taken', { runId: 'w', into: 'r', message: user(4, 'and this') });
    const usage = { replies: 2, inputTokens: 1, outputTokens: 1, costMicros: 0, durationMs: 7 };
    for (const runId of ['w', 'r']) chat({ runId, state: 'final', reply: 2, text: 'both', message: agent(5, 'both'), usage });
    expect(words(talk)).toEqual(['user: first', 'user: and this', 'agent: both', 'cost']);
    expect(talk.busy).toBe(false);
  });
  it('is not lost or doubled by a look while it is sent', async () => {
    const talk = await opened();
    const sent = talk.send('hello', []);
    const sending = world.calls.shift();
    const run = (sending?.params as { runId: string }).runId;
    const loading = talk.load();
    hear('chat.taken', { runId: run, message: user(0, 'hello') });
    await answer(history({ messages: [user(0, 'hello')], running: running({ runId: run }) }));
    await loading;
    sending?.done({ status: 'started', runId: run, queued: false });
    await sent;
    expect(words(talk)).toEqual(['user: hello']);
    expect(talk.busy).toBe(true);
  });
  it('does not work for good when the end comes before the answer', async () => {
    const talk = await opened();
    const sent = talk.send('hello', []);
    const sending = world.calls.shift();
    const run = (sending?.params as { runId: string }).runId;
    hear('chat.taken', { runId: run, message: user(0, 'hello') });
    chat({ runId: run, state: 'final', reply: 1, text: 'hi', message: agent(1, 'hi') });
    sending?.done({ status: 'started', runId: run, queued: false });
    await sent;
    expect(talk.busy).toBe(false);
    expect(words(talk)).toEqual(['user: hello', 'agent: hi']);
  });
});

describe('commands', () => {
  it('that change what was said are followed by a look at it', async () => {
    const talk = await opened({ messages: [user(1, 'hello'), agent(2, 'hi')] });
    const sent = talk.send('/undo', []);
    await answer({ status: 'command', command: 'undo', response: 'taken back' });
    await answer(history({}));
    await sent;
    expect(words(talk)).toEqual(['note: taken back']);
    expect(talk.commands).toBe(1);
  });
  it('do not give a conversation its name; the first words after them do', async () => {
    const named: string[] = [];
    const talk = await opened({}, (words) => named.push(words));
    const asked = talk.send('/status', []);
    await answer({ status: 'command', command: 'status', response: 'well' });
    await asked;
    expect(world.calls).toEqual([]);
    const sent = talk.send('hello there', []);
    await answer({ status: 'started', runId: 'r', queued: false });
    await sent;
    expect(named).toEqual(['hello there']);
  });
});

it('leads to the first steps where there is no model', async () => {
  const talk = await opened();
  hear('chat.taken', { runId: 'r', message: user(1, 'hello') });
  chat({ state: 'error', error: 'no model is set\nhint: set models.default in config.toml', failure: 'not_configured' });
  expect(talk.items.at(-1)).toMatchObject({ kind: 'error', message: 'no model is set', hint: '', link: { to: '#/welcome' } });
});
