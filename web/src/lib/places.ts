// Every page: its name, how it is found, and how it is loaded.

import type { Component } from 'svelte';

export type Place = {
  id: string;
  title: string;
  icon: string;
  group: string;
  /** The letter after `g` that leads there. */
  key: string;
  load: () => Promise<{ default: Component }>;
};

const place = (id: string, title: string, icon: string, group: string, key: string, load: Place['load']): Place => ({ id, title, icon, group, key, load });

export const places: Place[] = [
  place('chat', 'Chat', 'chat', '', 'c', () => import('../pages/chat/Chat.svelte')),
  place('tools', 'Tools', 'tools', 'Hands', 't', () => import('../pages/Tools.svelte')),
  place('nodes', 'Nodes', 'node', 'Hands', 'n', () => import('../pages/Nodes.svelte')),
  place('servers', 'Servers', 'plug', 'Hands', 's', () => import('../pages/Servers.svelte')),
  place('channels', 'Channels', 'send', 'Hands', 'h', () => import('../pages/Channels.svelte')),
  place('agents', 'Agents', 'star', 'Work', 'm', () => import('../pages/Agents.svelte')),
  place('cron', 'Jobs', 'clock', 'Work', 'j', () => import('../pages/Cron.svelte')),
  place('people', 'People and todos', 'people', 'Work', 'p', () => import('../pages/People.svelte')),
  place('workspace', 'Workspace', 'folder', 'Kept', 'w', () => import('../pages/Workspace.svelte')),
  place('artifacts', 'Artifacts', 'box', 'Kept', 'a', () => import('../pages/Artifacts.svelte')),
  place('resources', 'Resources', 'chest', 'Kept', 'o', () => import('../pages/Resources.svelte')),
  place('policy', 'Approvals', 'shield', 'House', 'r', () => import('../pages/Policy.svelte')),
  place('activity', 'Activity', 'list', 'House', 'l', () => import('../pages/Activity.svelte')),
  place('usage', 'Usage', 'chart', 'House', 'u', () => import('../pages/Usage.svelte')),
  place('settings', 'Settings', 'gear', 'House', 'x', () => import('../pages/Settings.svelte')),
  place('health', 'Health', 'heart', 'House', 'e', () => import('../pages/Health.svelte')),
  place('welcome', 'First steps', 'flag', 'House', 'f', () => import('../pages/Welcome.svelte')),
];
