import { expect, test } from 'vitest';
import { LENGTHS, Printed, runtime, standing } from '../src/lib/process';

const piece = (at: number, text: string) => ({ at, next: at + text.length, text });

test('pieces that follow each other are one text', () => {
  const printed = new Printed();
  expect(printed.next).toBeUndefined();
  printed.take(piece(0, 'one\ntw'));
  printed.take(piece(6, 'o\n'));
  expect([printed.text, printed.next]).toEqual(['one\ntwo\n', 8]);
});

test('what was left out is counted where it is missing', () => {
  const printed = new Printed();
  printed.take(piece(1_200, 'late\nhal'));
  printed.take(piece(3_000, 'end\n'));
  expect(printed.text).toBe('[1,200 characters omitted]\nlate\nhal\n[1,792 characters omitted]\nend\n');
  // A secret that was cut out makes a text shorter than its place.
  printed.take({ at: 3_004, next: 3_100, text: '[redacted]\n' });
  printed.take(piece(3_100, 'more\n'));
  expect(printed.text.endsWith('end\n[redacted]\nmore\n')).toBe(true);
});

test('however much is printed, the end of it is kept and begins with a line', () => {
  const printed = new Printed();
  let at = 0;
  for (let line = 0; line < 40_000; line += 1) {
    const text = `line ${line}\n`;
    printed.take({ at, next: (at += text.length), text });
  }
  expect(printed.text.length).toBeLessThan(160_000);
  expect(printed.text).toMatch(/^line \d+\n/);
  expect(printed.text.endsWith('line 39999\n')).toBe(true);
});

test('why a program ended is said', () => {
  const said = (one: Partial<Parameters<typeof standing>[0]>) => standing({ status: 'failed', exitCode: null, signal: null, timedOut: false, ...one }).label;
  expect(said({ status: 'running' })).toBe('Running');
  expect(said({ timedOut: true, signal: 'SIGTERM' })).toBe('Stopped: time limit reached');
  // A program may catch the signal and say another end.
  expect(said({ timedOut: true, exitCode: 0 })).toBe('Stopped: time limit reached');
  expect(said({ signal: 'SIGKILL' })).toBe('Ended by SIGKILL');
  expect(said({ exitCode: 3 })).toBe('Exit code 3');
  expect(said({ status: 'completed', exitCode: 0 })).toBe('Finished');
  expect(said({})).toContain('unknown');
});

test('the time of a program that runs goes on, and that of one that ended does not', () => {
  expect([runtime({ status: 'running', runtimeMs: 72 }, 5_000), runtime({ status: 'failed', runtimeMs: 72 }, 5_000), runtime({ status: 'running', runtimeMs: 72 }, -3)]).toEqual([5_072, 72, 72]);
  // No machine takes more than thirty days.
  expect(LENGTHS.every(([, ms]) => ms <= 30 * 86_400_000)).toBe(true);
});
