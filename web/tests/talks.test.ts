import { describe, expect, it } from 'vitest';
import { jobOf, talkName, titled } from '../src/lib/talks';

describe('a conversation is called', () => {
  const jobs = new Map([['j1', 'Morning summary']]);
  it.each([
    ['agent:main:main', null, 'Main'],
    ['agent:helper:main', null, 'helper, main'],
    ['agent:main:talk-a1b2c3', null, 'New conversation'],
    ['agent:main:talk-a1b2c3', 'Tea', 'Tea'],
    ['agent:main:cron:j1', null, 'Morning summary'],
    ['agent:helper:cron:j2:r', null, 'Job run, helper'],
    ['agent:main:telegram:dm:42', null, 'telegram:dm:42'],
  ])('%s (%s): %s', (key, label, name) => expect(talkName(key, label, jobs)).toBe(name));
  it('by who it is with, where that is known', () => {
    const people = new Map([['telegram:42', 'Ada']]);
    expect(talkName('agent:main:telegram:dm:42', null, jobs, people)).toBe('Ada, Telegram');
    expect(talkName('agent:main:telegram:dm:43', null, jobs, people)).toBe('telegram:dm:43');
  });
  it('by its title, where its key is only a number', () => {
    for (const key of ['agent:main:talk-a1b2c3', 'agent:main:sub:01a1f5c3-d6b9-7b2a']) expect(titled(key), key).toBe(true);
    for (const key of ['agent:main:main', 'agent:main:harbour', 'agent:main:cron:01a1f5c3', 'agent:main:telegram:dm:4242']) expect(titled(key), key).toBe(false);
  });
  it('by its job, where it is a run of one', () => {
    expect(jobOf('agent:main:cron:j1')).toBe('j1');
    expect(jobOf('agent:main:main')).toBeNull();
  });
});
