import { describe, expect, it } from 'vitest';
import { accessOf, configOf, formOf, skillName, withAccess, wrongFields } from '../src/lib/agents';

const tool = (name: string) => ({ name, wireName: name.replaceAll('::', '__') });
const all = ['bash', 'web_search', 'gsv__ReadFile', 'gsv__WriteFile', 'tool::file_read', 'tool::file_write'].map(tool);
const one = (name: string) => all.find((other) => other.name === name) ?? tool(name);
const everything = { tools: ['*'], discover: [] as string[] };
const given = (patterns: { tools: string[]; discover: string[] }) => all.map((other) => `${other.name} ${accessOf(other, patterns)}`);

describe('an agent as a form', () => {
  it('is the same settings when nothing was changed', () => {
    const config = { model: 'a/b', thinking: 'low', tools: ['gsv__*'], discover: ['x'], system_prompt: 'You look.', reset: { mode: 'idle', at_hour: 4, idle_minutes: 5 }, workspace: 'main', dm_scope: 'main', mode: 'auto' };
    expect(configOf(formOf(config))).toEqual(config);
  });
  it('leaves out what follows the general settings', () => {
    expect(configOf(formOf(undefined))).toEqual({});
    expect(configOf(formOf({ model: null, tools: ['*'], discover: [], policy: { rules: [] } }))).toEqual({});
  });
  it('keeps settings that it does not show, such as rules', () => {
    const policy = { rules: [{ decision: 'deny' }] };
    expect(configOf(formOf({ policy }), { policy })).toEqual({ policy });
  });
  it('saves an empty list of tools as it is, so that the gateway can refuse it', () => {
    expect(configOf({ ...formOf(undefined), tools: [] })).toEqual({ tools: [] });
  });
});

describe('what the gateway says is wrong', () => {
  it('stands beside the field that it is about, without the name of the file', () => {
    const said = 'path: /home/ada/.manyhands/config.toml: `agents.x.tools` must not be empty\n/home/ada/.manyhands/config.toml:3: unknown key `agents.x.colour`';
    expect(wrongFields(said)).toEqual({ tools: '`tools` must not be empty', colour: 'unknown key `colour`' });
    expect(wrongFields('the disk is full')).toEqual({ '': 'the disk is full' });
  });
});

describe('tools of an agent', () => {
  it('are on, on demand, or off by their patterns, and on demand takes precedence', () => {
    expect(given({ tools: ['gsv__*', 'bash'], discover: ['gsv__W*', 'tool::*'] })).toEqual(['bash on', 'web_search off', 'gsv__ReadFile on', 'gsv__WriteFile demand', 'tool::file_read demand', 'tool::file_write demand']);
  });
  it('can be switched off one by one, and the others stay as they are', () => {
    const now = withAccess(everything, [one('gsv__WriteFile')], 'off', all);
    expect(given(now).filter((line) => line.endsWith('off'))).toEqual(['gsv__WriteFile off']);
    expect(now.tools, 'a server of which all are on stays one pattern').toEqual(['bash', 'web_search', 'gsv__ReadFile', 'tool::*']);
  });
  it('are as before when one is switched off and on', () => {
    const off = withAccess(everything, [one('bash')], 'off', all);
    expect(given(withAccess(off, [one('bash')], 'on', all))).toEqual(given(everything));
  });
  it('can be put on demand and back without a trace', () => {
    const demand = withAccess(everything, [one('bash')], 'demand', all);
    expect(demand).toEqual({ tools: ['*'], discover: ['bash'] });
    expect(withAccess(demand, [one('bash')], 'on', all)).toEqual(everything);
  });
  it('are set by server with one pattern, which later tools of it follow', () => {
    const now = withAccess({ tools: ['bash'], discover: [] }, [one('gsv__ReadFile'), one('gsv__WriteFile')], 'on', all);
    expect(now.tools).toEqual(['bash', 'gsv__*']);
  });
});

describe('a skill from a file', () => {
  it('is named by its text, or else by its file', () => {
    expect(skillName('---\nname: Weekly Report\ndescription: x\n---\n', 'SKILL.md')).toBe('weekly-report');
    expect(skillName('no front matter', 'Größe.md')).toBe('gro-e');
    expect(skillName('---\nname: "../../etc"\n---', 'a.md')).toBe('etc');
  });
});
