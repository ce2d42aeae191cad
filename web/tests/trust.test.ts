import { describe, expect, it } from 'vitest';
import type { Untrusted } from '../src/lib/answers';
import { MODES, modeOf } from '../src/lib/modes';
import { became, ofKind, pageOf } from '../src/lib/trust';

describe('untrusted content', () => {
  it('says who wrote it after reading what, as far as that is on record', () => {
    expect(became({ kind: 'file', author: 'agent:main', source: 'tool:web_fetch' })).toBe('Written by agent:main after reading tool:web_fetch.');
    expect(became({ kind: 'file', author: 'agent:main for owner:browser 2026-11-19T21:50:49.435Z', source: 'tool:web_fetch' })).toBe('Written by agent:main for owner:Browser after reading tool:web_fetch.');
    expect(became({ kind: 'job', author: null, source: 'tool:web_fetch' })).toBe('Written after reading tool:web_fetch.');
    expect(became({ kind: 'session', author: null, source: 'person:telegram:42' })).toBe('Contains untrusted text from person:telegram:42.');
  });
  it('leads to where it can be read', () => {
    expect(pageOf({ kind: 'file', id: 'agents/main/memory/a b.md' })).toEqual(['workspace', 'main', 'memory', 'a b.md']);
    expect(pageOf({ kind: 'session', id: 'agent:main:main' })).toEqual(['chat', 'agent:main:main']);
    expect(pageOf({ kind: 'file', id: 'elsewhere' })).toBeNull();
  });
  it('is found by its id among those of its kind', () => {
    const objects: Untrusted[] = [
      { kind: 'file', id: 'x', author: null, source: 's', at: null },
      { kind: 'agent', id: 'x', author: null, source: 't', at: null },
    ];
    expect(ofKind(objects, 'agent').get('x')?.source).toBe('t');
    expect(ofKind(undefined, 'agent').size).toBe(0);
  });
});

describe('approval modes', () => {
  it('are explained, and ask is the default', () => {
    expect(MODES.map((one) => one.id)).toEqual(['ask', 'auto', 'read-only']);
    expect(modeOf('read-only').name).toBe('Read-only');
    expect(modeOf(undefined).id).toBe('ask');
  });
});
