import { expect, it } from 'vitest';
import { inJson, inMarkdown } from '../src/pages/chat/export';
import { pieced } from '../src/pages/chat/found';
import { shown } from '../src/pages/chat/items';

it('marks are pieces of the snippet, and what is no place in it is left out', () => {
  expect(pieced('find the word', [[9, 13], [0, 4]])).toEqual([{ text: 'find', marked: true }, { text: ' the ', marked: false }, { text: 'word', marked: true }]);
  expect(pieced('short', [[2, 99], [3, 1]])).toEqual([{ text: 'short', marked: false }]);
});

it('an export holds every message and call, and no fence ends early', () => {
  const items = shown(
    [
      { role: 'user', seq: 1, content: [{ type: 'text', text: 'look' }], timestamp: 0 },
      { role: 'assistant', seq: 2, content: [{ type: 'text', text: 'I look.' }, { type: 'toolCall', id: 'a', name: 'read', arguments: { path: 'x' } }] },
      { role: 'toolResult', seq: 3, toolCallId: 'a', toolName: 'read', content: [{ type: 'text', text: '```js\n1\n```' }] },
    ],
    'agent:main:main',
  );
  const markdown = inMarkdown('Name', items);
  expect(markdown).toMatch(/^# Name\n\n## You \(1970-01-01T00:00:00\.000Z\)\n\nlook\n\n## Agent\n\nI look\.\n\n### Tool: read \(ok\)/);
  expect(markdown).toContain('````\n```js\n1\n```\n````');
  const told = JSON.parse(inJson({ title: 'Name' }, items)) as { title: string; items: { kind: string; key?: number }[] };
  expect(told.items.map((one) => one.kind)).toEqual(['user', 'agent', 'tool']);
  expect(told.items[0]).not.toHaveProperty('key');
});
