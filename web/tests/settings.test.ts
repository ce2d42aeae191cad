import { describe, expect, it } from 'vitest';
import type { Schema } from '../src/lib/schema';
import { bytesOf, describedDefault, groupsOf, isDefault, labelOf, sectionOf, sizeOf, unitOf } from '../src/lib/settings';

const text: Schema = { type: 'string' };
const root = {
  type: 'object',
  properties: {
    timezone: { type: ['string', 'null'], description: "The time zone. Default: the machine's.", default: null },
    limits: {
      type: 'object',
      properties: {
        request_bytes: { type: 'integer', minimum: 1, default: 1024, 'x-restart': true },
        approval_minutes: { type: 'integer', minimum: 1, maximum: 60, default: 15 },
      },
    },
    policy: { type: 'object', properties: { mode: { oneOf: [{ const: 'ask' }, { const: 'auto' }], default: 'ask' }, rules: { type: 'array', items: { type: 'object', properties: { tools: text } }, default: [] } } },
    agents: { type: 'object', additionalProperties: { type: 'object', properties: { tools: { type: 'array', items: text, default: ['*'] }, enabled: { type: ['boolean', 'null'], default: null } } } },
    links: { type: 'object', additionalProperties: { type: 'array', items: text } },
    telemetry: { type: 'object', properties: { headers: { type: 'object', additionalProperties: text, 'x-secret': true } } },
    local: { type: 'string', 'x-local': true },
  },
} as Schema;
const config = { timezone: null, limits: { request_bytes: 2048, approval_minutes: 15 }, policy: { mode: 'ask', rules: [] }, agents: { main: { tools: ['*'], enabled: null } }, links: { ada: ['telegram:1'] }, telemetry: { headers: '***' }, local: 'x' };
const groups = groupsOf(config, root);
const find = (path: string) => groups.flatMap((group) => group.settings).find((one) => one.path === path);

describe('settings', () => {
  it.each([
    ['timezone', { control: { kind: 'text', suggest: 'zone' }, nullable: true, label: 'Timezone' }],
    ['limits.request_bytes', { control: { kind: 'size', min: 1 }, restart: true, label: 'Request size' }],
    ['limits.approval_minutes', { control: { kind: 'number', unit: 'min', min: 1, max: 60 } }],
    ['policy.mode', { control: { kind: 'choice', options: [{ value: 'ask' }, { value: 'auto' }] } }],
    ['policy.rules', { control: { kind: 'form' } }],
    ['agents.main.tools', { control: { kind: 'chips' } }],
    ['agents.main.enabled', { control: { kind: 'choice', options: [{ value: true }, { value: false }] }, nullable: true }],
    ['links.ada', { control: { kind: 'chips' }, label: 'ada' }],
    ['telemetry.headers', { control: { kind: 'masked' } }],
    ['local', { local: true }],
  ])('%s has its control', (path, wanted) => expect(find(path)).toMatchObject(wanted));

  it('come in groups, with maps before their entries, which can be removed', () => {
    expect(groups.map(({ path, entry, removable }) => [path, Boolean(entry), removable])).toEqual([
      ['', false, false],
      ['limits', false, false],
      ['policy', false, false],
      ['agents', true, false],
      ['agents.main', false, true],
      ['links', true, false],
      ['links.ada', false, true],
      ['telemetry', false, false],
    ]);
  });

  it('say their default', () => {
    expect(describedDefault("The time zone, such as `Europe/Berlin`. Default: the machine's.")).toBe("the machine's");
    expect(describedDefault('Model. Default: `models.default`. More.')).toBe('models.default');
    expect(describedDefault('Nothing about it.')).toBe('');
    expect(isDefault({ value: ['a'], fallback: ['a'] })).toBe(true);
    expect(isDefault({ value: 1, fallback: 2 })).toBe(false);
  });

  it('have labels, units and sections', () => {
    expect(labelOf('max_concurrent_runs')).toBe('Maximum concurrent runs');
    expect(labelOf('mcpServers')).toBe('MCP servers');
    expect(labelOf('makers')).toBe('Provider presets');
    expect(unitOf('keep_days')).toBe('d');
    expect(unitOf('calls_per_minute')).toBe('');
    expect(sectionOf('cron')).toBe('jobs');
    expect(sectionOf('of_a_newer_gateway')).toBe('general');
  });

  it('show sizes in the unit that people use', () => {
    expect(sizeOf(16_777_216)).toEqual({ amount: '16', unit: 'MiB' });
    expect(sizeOf(1_572_864)).toEqual({ amount: '1.5', unit: 'MiB' });
    expect(sizeOf(500_000)).toEqual({ amount: '500000', unit: 'B' });
    expect(sizeOf(0)).toEqual({ amount: '0', unit: 'B' });
    for (const bytes of [1, 262_144, 53_687_091_200]) {
      const { amount, unit } = sizeOf(bytes);
      expect(bytesOf(amount, unit)).toBe(bytes);
    }
    expect(bytesOf('', 'MiB')).toBeNaN();
  });
});
