import { describe, expect, it } from 'vitest';
import { Drafts } from '../src/lib/drafts';

describe('drafts of files', () => {
  it('are held by agent and file until they are dropped', () => {
    const drafts = new Drafts();
    drafts.put('main', 'a.md', { text: 'x', base: '1' });
    drafts.put('other', 'a.md', { text: 'y', base: '2' });
    drafts.put('main', 'a.md', { text: 'z', base: '1' });
    expect(drafts.get('main', 'a.md')).toEqual({ text: 'z', base: '1' });
    expect([...drafts.of('main')]).toEqual(['a.md']);
    expect(drafts.size).toBe(2);
    drafts.drop('main', 'a.md');
    expect(drafts.get('main', 'a.md')).toBeUndefined();
    expect(drafts.get('other', 'a.md')?.text).toBe('y');
  });
  it('are bounded: the oldest go', () => {
    const drafts = new Drafts();
    for (let at = 0; at < 300; at += 1) drafts.put('main', `${at}.md`, { text: 'x', base: '' });
    expect(drafts.size).toBe(100);
    expect(drafts.get('main', '299.md')).toBeDefined();
    expect(drafts.get('main', '0.md')).toBeUndefined();
  });
});
