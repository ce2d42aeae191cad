// What each chat platform needs: what to create where, and which token goes into which field.

import '../../texts/use/channels';
import type { Key } from '../../lib/i18n';

export type Mode = 'poll' | 'socket' | 'webhook';
export type Field = { name: 'token' | 'appToken' | 'secret' | 'number' | 'verifyToken'; label: Key; looks: string; open?: boolean; modes?: Mode[]; optional?: boolean };
export type StepText = { text: Key; url?: string; shows?: 'hook' | 'manifest' };
export type Platform = { id: string; title: string; about: Key; modes: Mode[]; steps: StepText[]; fields: Field[] };

export const PLATFORMS: Platform[] = [
  {
    id: 'telegram',
    title: 'Telegram',
    about: 'channels.telegramAbout',
    modes: ['poll', 'webhook'],
    steps: [{ text: 'channels.telegram1', url: 'https://t.me/BotFather' }, { text: 'channels.telegram2' }, { text: 'channels.telegram3' }],
    fields: [{ name: 'token', label: 'channels.botToken', looks: '123456789:AAE…' }],
  },
  {
    id: 'whatsapp',
    title: 'WhatsApp',
    about: 'channels.whatsappAbout',
    modes: ['webhook'],
    steps: [{ text: 'channels.whatsapp1', url: 'https://developers.facebook.com/apps' }, { text: 'channels.whatsapp2' }, { text: 'channels.whatsapp3' }, { text: 'channels.whatsapp4', shows: 'hook' }],
    fields: [
      { name: 'token', label: 'channels.accessToken', looks: 'EAAG…' },
      { name: 'number', label: 'channels.phoneId', looks: '1234567890', open: true },
      { name: 'secret', label: 'channels.appSecret', looks: '…' },
      { name: 'verifyToken', label: 'channels.verifyToken', looks: '…' },
    ],
  },
  {
    id: 'slack',
    title: 'Slack',
    about: 'channels.slackAbout',
    modes: ['socket', 'webhook'],
    steps: [{ text: 'channels.slack1', url: 'https://api.slack.com/apps?new_app=1', shows: 'manifest' }, { text: 'channels.slack2' }, { text: 'channels.slack3' }],
    fields: [
      { name: 'token', label: 'channels.slackBotToken', looks: 'xoxb-…' },
      { name: 'appToken', label: 'channels.slackAppToken', looks: 'xapp-…', modes: ['socket'] },
      { name: 'secret', label: 'channels.signingSecret', looks: '…', modes: ['webhook'] },
    ],
  },
  {
    id: 'discord',
    title: 'Discord',
    about: 'channels.discordAbout',
    modes: ['socket'],
    steps: [{ text: 'channels.discord1', url: 'https://discord.com/developers/applications' }, { text: 'channels.discord2' }, { text: 'channels.discord3' }],
    fields: [{ name: 'token', label: 'channels.botToken', looks: 'MTA…' }],
  },
  {
    id: 'line',
    title: 'LINE',
    about: 'channels.lineAbout',
    modes: ['webhook'],
    steps: [{ text: 'channels.line1', url: 'https://developers.line.biz/console/' }, { text: 'channels.line2' }, { text: 'channels.line3', shows: 'hook' }],
    fields: [
      { name: 'token', label: 'channels.channelToken', looks: '…' },
      { name: 'secret', label: 'channels.channelSecret', looks: '…' },
    ],
  },
];

/** A service that a program of the owner's connects. */
export const BRIDGE = 'bridge';

export const titleOf = (channel: string): string => PLATFORMS.find((one) => one.id === channel)?.title ?? channel;

/** The fields of a platform that a delivery mode needs. */
export const fieldsOf = (platform: Platform, mode: Mode): Field[] => platform.fields.filter((field) => !field.modes || field.modes.includes(mode));

/** The manifest that creates the Slack app with everything it needs. */
export function slackManifest(mode: Mode, hook: string): string {
  const socket = mode === 'socket';
  const manifest = {
    display_information: { name: 'Manyhands' },
    features: { bot_user: { display_name: 'Manyhands', always_online: true }, app_home: { messages_tab_enabled: true, messages_tab_read_only_enabled: false } },
    oauth_config: {
      scopes: { bot: ['app_mentions:read', 'channels:history', 'channels:read', 'chat:write', 'files:read', 'files:write', 'groups:history', 'groups:read', 'im:history', 'im:read', 'im:write', 'mpim:history', 'mpim:read', 'reactions:read', 'reactions:write', 'users:read'] },
    },
    settings: {
      event_subscriptions: { ...(socket ? {} : { request_url: hook }), bot_events: ['app_mention', 'message.channels', 'message.groups', 'message.im', 'message.mpim', 'reaction_added'] },
      interactivity: { is_enabled: true, ...(socket ? {} : { request_url: hook }) },
      socket_mode_enabled: socket,
    },
  };
  return JSON.stringify(manifest, null, 2);
}
