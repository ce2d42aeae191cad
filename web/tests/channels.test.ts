import { expect, it } from 'vitest';
import { fieldsOf, PLATFORMS, slackManifest, titleOf } from '../src/pages/channels/platforms';

it('each platform has steps and a field for every delivery mode', () => {
  for (const platform of PLATFORMS) for (const mode of platform.modes) {
    expect(platform.steps.length, platform.id).toBeGreaterThan(2);
    expect(fieldsOf(platform, mode).map((field) => field.name), `${platform.id} ${mode}`).toContain('token');
  }
  const slack = PLATFORMS.find((one) => one.id === 'slack');
  expect(slack && fieldsOf(slack, 'webhook').map((field) => field.name)).toEqual(['token', 'secret']);
  expect([titleOf('line'), titleOf('signal')]).toEqual(['LINE', 'signal']);
});

it('the manifest of a Slack app fits how messages are delivered', () => {
  const read = (mode: 'socket' | 'webhook') => (JSON.parse(slackManifest(mode, 'https://hands.example/hooks/slack')) as { settings: { socket_mode_enabled: boolean; event_subscriptions: { request_url?: string } } }).settings;
  expect(read('socket')).toMatchObject({ socket_mode_enabled: true });
  expect(read('socket').event_subscriptions.request_url).toBeUndefined();
  expect(read('webhook')).toMatchObject({ socket_mode_enabled: false, event_subscriptions: { request_url: 'https://hands.example/hooks/slack' } });
});
