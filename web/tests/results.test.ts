import { describe, expect, it } from 'vitest';
import { commandOf, editOf, viewOf } from '../src/pages/chat/results';

const view = (name: string, args: unknown, result: unknown, more: { failed?: boolean; diff?: string } = {}) =>
  viewOf({ name, args, result: typeof result === 'string' ? result : JSON.stringify(result), ended: true, failed: false, ...more });

describe('a result is shown as what it is', () => {
  it('a program by its command, its output and how it ended', () => {
    expect(view('bash', { cmd: 'ls' }, { exit_code: 2, stdout: 'a', stderr: 'b', stdout_truncated: false, stderr_truncated: true })).toMatchObject({ kind: 'terminal', command: 'ls', output: 'a', errors: 'b', exit: 2, truncated: true });
    expect(view('studio__Bash', { command: 'x' }, { exitCode: null, signal: 'SIGKILL', timedOut: true, output: 'both', tail: 'both' })).toMatchObject({ kind: 'terminal', output: 'both', signal: 'SIGKILL', timedOut: true });
    expect(view('bash', { cmd: 'ls', run_in_subtask: true }, { task_id: 't', status: 'done', output: { exit_code: 1, stdout: 'in', stderr: '' } })).toMatchObject({ kind: 'terminal', output: 'in', exit: 1 });
  });
  it('an edit and a patch as a diff', () => {
    expect(view('gsv__EditFile', { path: 'a.md', oldString: 'one\ntwo', newString: 'one\n2' }, { edited: true })).toEqual({ kind: 'diff', path: 'a.md', text: ' one\n-two\n+2' });
    expect(view('tool::apply_patch', { path: '.', patch: '--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n' }, { patched: true })).toMatchObject({ kind: 'diff' });
    expect(view('gsv__WriteFile', { path: 'a', content: 'x' }, { written: true }, { diff: '-y\n+x' })).toMatchObject({ kind: 'diff', text: '-y\n+x' });
    expect(editOf({ query: 'x' })).toBeNull();
  });
  it('a file by its language, a list of objects as a table, other values as a tree', () => {
    expect(view('gsv__ReadFile', { path: 'a.rs' }, { path: 'a.rs', content: 'fn main() {}', size: 12 })).toMatchObject({ kind: 'file', language: 'rs' });
    expect(view('list', {}, [{ a: 1, b: 'x' }, { a: 2, b: 'y' }])).toEqual({ kind: 'table', columns: ['a', 'b'], rows: [[1, 'x'], [2, 'y']], rest: {} });
    expect(view('list', {}, { rows: [{ a: 1 }, { a: 2 }], total: 2 })).toMatchObject({ kind: 'table', rest: { total: 2 } });
    expect(view('list', {}, { deep: { a: { b: 1 } } })).toMatchObject({ kind: 'tree' });
  });
  it('what a search found as links, and a plan as steps', () => {
    expect(view('web_search', { q: 'x' }, { q: 'x', results: [{ title: 'T', url: 'https://a.example/', content: 'C' }] })).toEqual({ kind: 'links', links: [{ title: 'T', url: 'https://a.example/', about: 'C' }] });
    expect(view('plan_create', {}, { plan: { thought: 'hm', steps: [{ step: 'one', status: 'pending' }] } })).toMatchObject({ kind: 'plan', steps: [{ step: 'one', status: 'pending' }] });
  });
  it('words as words, and a failure as its reason', () => {
    expect(view('x', {}, 'hello')).toEqual({ kind: 'text', text: 'hello' });
    expect(view('bash', { cmd: 'x' }, 'the owner denied this call of bash', { failed: true })).toEqual({ kind: 'text', text: 'the owner denied this call of bash' });
    expect(view('gsv__EditFile', { path: 'a', oldString: 'x', newString: 'y' }, 'not found', { failed: true })).toEqual({ kind: 'text', text: 'not found' });
    expect(view('x', {}, '{"cut": ').kind, 'what was cut is no JSON').toBe('text');
  });
});

it('a program with arguments is shown as it would be typed', () => expect(commandOf({ argv: ['grep', '-n', "it's here", 'a.md'] })).toBe("grep -n 'it'\\''s here' a.md"));
