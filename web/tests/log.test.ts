import { describe, expect, it } from 'vitest';
import { filtered, logLine } from '../src/lib/log';

describe('a log line', () => {
  it('of a node has its time, level, message and fields', () => {
    expect(logLine('{"at":"2026-11-19T14:17:08.123Z","level":"warn","event":"lost","message":"connection lost","code":null,"tries":2}')).toMatchObject({
      at: '2026-11-19T14:17:08.123Z',
      level: 'warn',
      message: 'connection lost',
      fields: [['event', 'lost'], ['tries', '2']],
    });
  });
  it.each([
    ['2026-11-19T14:17:08Z ERROR cannot listen', 'error', 'cannot listen', '2026-11-19T14:17:08Z'],
    ['[2026-11-19 14:17:08] [warn] slow', 'warn', 'slow', '2026-11-19 14:17:08'],
    ['INFO: started', 'info', 'started', null],
    ['Error: ENOENT', 'error', 'ENOENT', null],
    ['TypeError: x is not a function', 'info', 'TypeError: x is not a function', null],
    ['Traceback (most recent call last):', 'error', 'Traceback (most recent call last):', null],
    ['plain words', 'info', 'plain words', null],
    ['{not json', 'info', '{not json', null],
  ])('%j is read', (raw, level, message, at) => expect(logLine(raw)).toMatchObject({ level, message, at, raw }));
  it('is found by its level and by words anywhere in it', () => {
    const lines = ['ERROR disk full', 'WARN disk slow', 'INFO started', 'DEBUG disk read'].map(logLine);
    expect(filtered(lines, 'warn', '').map((line) => line.raw)).toEqual(['ERROR disk full', 'WARN disk slow']);
    expect(filtered(lines, 'debug', 'disk read').map((line) => line.raw)).toEqual(['DEBUG disk read']);
    expect(filtered(lines, 'info', 'DISK').map((line) => line.raw)).toEqual(['ERROR disk full', 'WARN disk slow']);
  });
});
