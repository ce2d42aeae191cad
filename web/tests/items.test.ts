import { describe, expect, it } from 'vitest';
import type { ChatMessage } from '../src/generated/protocol';
import { artifactsIn, withFiles } from '../src/pages/chat/attached';
import { hasEnd, meant, shown as read, source, tail, unfenced } from '../src/pages/chat/items';

const shown = (messages: ChatMessage[]) => read(messages, 'agent:main:main');

const said = (seq: number, text: string): ChatMessage => ({ role: 'user', seq, content: [{ type: 'text', text }] });
const calls = (id: string): ChatMessage => ({ role: 'assistant', content: [{ type: 'text', text: 'I look.' }, { type: 'toolCall', id, name: 'look', arguments: { at: 'it' } }] });
const gave = (id: string, text: string, isError = false): ChatMessage => ({ role: 'toolResult', toolCallId: id, toolName: 'look', isError, content: [{ type: 'text', text }] });

describe('a conversation as it is shown', () => {
  it('has the words, then the call with what it gave', () => {
    const items = shown([said(1, 'look'), calls('a'), gave('a', 'seven')]);
    expect(items.map((one) => one.kind)).toEqual(['user', 'agent', 'tool']);
    expect(items[2]).toMatchObject({ state: 'ok', result: 'seven', args: { at: 'it' } });
  });
  it('leaves a call open that has no result, and marks one that failed', () => {
    const items = shown([calls('a'), calls('b'), gave('b', 'broken', true)]);
    expect(items.filter((one) => one.kind === 'tool').map((one) => one.state)).toEqual(['running', 'failed']);
  });
  it('gives each of two calls with one id its own result', () => {
    const items = shown([calls('a'), gave('a', 'first'), calls('a'), gave('a', 'second')]);
    expect(items.filter((one) => one.kind === 'tool').map((one) => one.result)).toEqual(['first', 'second']);
  });
  it('says how long a call took, and which one it was', () => {
    const items = shown([calls('a'), { ...gave('a', 'seven'), durationMs: 12, auditCall: 'of the audit' }]);
    expect(items[1]).toMatchObject({ ms: 12, call: 'of the audit' });
  });
  it('says of each call of the run that goes on where it stands', () => {
    const both: ChatMessage = { role: 'assistant', content: ['a', 'b', 'c'].map((id) => ({ type: 'toolCall' as const, id, name: 'look', arguments: {} })) };
    const running = [
      { callId: 'a', auditCall: 'one', elapsedMs: 900, waits: false, ok: true, shown: 'seven', durationMs: 5, outputFrom: 0 },
      { callId: 'b', elapsedMs: 400, waits: true, output: 'half', outputFrom: 3 },
      { callId: 'x', elapsedMs: 0, waits: true, outputFrom: 0 },
    ];
    const items = read([both], 'agent:main:main', running, 1_000);
    expect(items).toMatchObject([
      { id: 'a', state: 'ok', waits: false, ms: 5, result: 'seven', call: 'one' },
      { id: 'b', state: 'running', waits: true, began: 600, output: { text: 'half', from: 3 } },
      { id: 'c', state: 'running', waits: false, began: null },
    ]);
  });
  it('tells every item apart', () => {
    const keys = shown([said(1, 'x'), said(2, 'x')]).map((one) => one.key);
    expect(new Set(keys).size).toBe(2);
  });
  it('shows results without the fence that models are shown', () => {
    expect(unfenced('<data source="tool:look">\nseven\n</data>')).toEqual({ text: 'seven', from: 'tool:look' });
    expect(unfenced('no <data source="x">\nfence\n</data>').from).toBe('');
  });
  it('says after the last message of a turn what it cost, also where that is what a tool gave', () => {
    const usage = { replies: 1, inputTokens: 1_000, outputTokens: 200, costMicros: 6_000, durationMs: 1_500 };
    const items = shown([said(1, 'look'), calls('a'), { ...gave('a', 'seven'), usage }, said(4, 'of before')]);
    expect(items.map((one) => one.kind)).toEqual(['user', 'agent', 'tool', 'cost', 'user']);
    expect(items[3]).toMatchObject({ used: usage, ms: 1_500 });
  });
  it('knows the end of a run that the history had before its event came', () => {
    const usage = { replies: 1, inputTokens: 1, outputTokens: 1, costMicros: 0, durationMs: 7 };
    const end: ChatMessage = { role: 'assistant', content: [{ type: 'text', text: 'done' }], usage };
    const items = shown([said(1, 'go'), end]);
    expect(hasEnd(items, 'done', usage)).toBe(true);
    expect(hasEnd(items, 'done', { ...usage, durationMs: 8 }), 'another run').toBe(false);
    expect(hasEnd(items, 'other', usage)).toBe(false);
    expect(hasEnd(shown([said(1, 'go')]), 'done', usage)).toBe(false);
  });
  it('finds the message that somebody means by its words', () => {
    const items = shown([said(1, 'one'), said(3, 'two'), said(5, 'one')]);
    expect(meant(items, 'one')?.seq).toBe(5);
    expect(meant(items, 'three')).toBeUndefined();
  });
});

describe('pictures', () => {
  it('of the history are where the gateway keeps them', () => {
    const content = [{ type: 'image', mimeType: 'image/png', ref: '4/0' }, { type: 'image', mimeType: 'image/png', ref: '../../x' }, { type: 'image', mimeType: 'image/png' }] as ChatMessage['content'];
    const [item] = shown([{ role: 'user', seq: 4, content }]);
    expect(item).toMatchObject({ pictures: [{ url: '/api/sessions/agent%3Amain%3Amain/pictures/4/0' }], unseen: 2 });
  });
  it('come from their bytes or from this gateway, and from nowhere else', () => {
    expect(source({ mimeType: 'image/png', data: 'AAAA' })).toBe('data:image/png;base64,AAAA');
    expect(source({ mimeType: 'image/png', url: '/api/pictures/1' })).toBe('/api/pictures/1');
    for (const url of ['https://evil.example/x.png', '//evil.example/x.png', '/\\evil.example', 'javascript:alert(1)', '/api\\..\\x']) expect(source({ mimeType: 'image/png', url })).toBe('');
    expect(source({ mimeType: 'image/svg+xml', data: 'AAAA' })).toBe('');
  });
});

describe('what a running tool prints', () => {
  it('is shown by its last lines', () => expect(tail('1\n2\n3\n\n', 2)).toBe('2\n3'));
});

describe('what came of a call', () => {
  const ran = (result: object, more: object = {}): ChatMessage => ({ ...gave('a', JSON.stringify(result)), ...more });
  const call = (message: ChatMessage) => shown([calls('a'), message]).find((one) => one.kind === 'tool');
  it('is a failure where a program ended with another code than 0, though the call worked', () => {
    expect(call(ran({ exit_code: 2, stdout: '', stderr: 'no' }))).toMatchObject({ state: 'failed', exit: 2 });
    expect(call(ran({ exit_code: 0, stdout: 'yes', stderr: '' }))).toMatchObject({ state: 'ok', exit: 0 });
    expect(call(ran({ exitCode: 1, output: '' }))).toMatchObject({ state: 'failed', exit: 1 });
  });
  it('is said by the gateway, or by its message where an older one says nothing', () => {
    expect(call({ ...gave('a', 'whatever', true), outcome: 'denied' } as ChatMessage)).toMatchObject({ state: 'denied' });
    expect(call(gave('a', 'the owner denied this call of look', true))).toMatchObject({ state: 'denied' });
    expect(call(gave('a', 'look is refused by policy.rules.0: no', true))).toMatchObject({ state: 'denied' });
    expect(call(gave('a', 'it broke', true))).toMatchObject({ state: 'failed' });
  });
});

describe('what a turn leaves', () => {
  it('is a reply that was stopped, and why one failed, before the next message', () => {
    const stopped = { role: 'assistant', seq: 2, content: [{ type: 'text', text: 'half' }], stopped: true } as ChatMessage;
    const failed = { role: 'assistant', seq: 4, content: [], error: { code: 'unavailable', message: 'overloaded\nhint: wait', retryable: true } } as unknown as ChatMessage;
    const items = shown([said(1, 'one'), stopped, said(3, 'two'), failed, said(5, 'three')]);
    expect(items).toMatchObject([{ kind: 'user' }, { kind: 'agent', text: 'half', stopped: true }, { kind: 'user' }, { kind: 'error', message: 'overloaded', hint: 'wait', code: 'unavailable' }, { kind: 'user', text: 'three' }]);
  });
  it('is the reasoning with the reply', () => {
    const content = [{ type: 'thinking', thinking: 'hm' }, { type: 'text', text: 'yes' }] as unknown as ChatMessage['content'];
    expect(shown([{ role: 'assistant', seq: 2, content }])).toMatchObject([{ kind: 'agent', text: 'yes', thinking: 'hm' }]);
  });
});

describe('files that were sent along', () => {
  const id = '0199f0d2-1111-7222-8333-444455556666';
  it('are read from the last lines of a message, and written back', () => {
    const text = `look\n\n[attached: plan (v2).pdf, artifact ${id}]`;
    const [item] = shown([said(1, text)]);
    expect(item).toMatchObject({ text: 'look', files: [{ name: 'plan (v2).pdf', id }] });
    expect(withFiles('look', [{ name: 'plan (v2).pdf', id }])).toBe(text);
  });
  it('are words where they are no such line', () => {
    for (const text of ['[attached: x, artifact y] and more', `see [attached: x, artifact ${id}] here`]) expect(artifactsIn(text)).toEqual({ text, files: [] });
  });
});
