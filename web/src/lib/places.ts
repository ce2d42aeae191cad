// Every page: its name, how it is found, and how it is loaded.

import type { Component } from 'svelte';
import { t } from './i18n';

export type Place = {
  id: string;
  title: string;
  icon: string;
  /** The heading under which the menu lists it; empty for the first entry. */
  group: string;
  /** The letter after `g` that opens it. */
  key: string;
  load: () => Promise<{ default: Component }>;
};

const [connections, automation, files, admin] = [t('shell.groupConnections'), t('shell.groupAutomation'), t('shell.groupFiles'), t('shell.groupAdmin')];
const place = (id: string, title: string, icon: string, group: string, key: string, load: Place['load']): Place => ({ id, title, icon, group, key, load });

export const places: Place[] = [
  place('chat', t('shell.pageChat'), 'chat', '', 'c', () => import('../pages/chat/Chat.svelte')),
  place('tools', t('shell.pageTools'), 'tools', connections, 't', () => import('../pages/Tools.svelte')),
  place('nodes', t('shell.pageNodes'), 'node', connections, 'n', () => import('../pages/Nodes.svelte')),
  place('servers', t('shell.pageServers'), 'plug', connections, 's', () => import('../pages/Servers.svelte')),
  place('channels', t('shell.pageChannels'), 'send', connections, 'h', () => import('../pages/Channels.svelte')),
  place('agents', t('shell.pageAgents'), 'star', automation, 'm', () => import('../pages/Agents.svelte')),
  place('cron', t('shell.pageJobs'), 'clock', automation, 'j', () => import('../pages/Cron.svelte')),
  place('people', t('shell.pagePeople'), 'people', automation, 'p', () => import('../pages/People.svelte')),
  place('workspace', t('shell.pageWorkspace'), 'folder', files, 'w', () => import('../pages/Workspace.svelte')),
  place('artifacts', t('shell.pageArtifacts'), 'box', files, 'a', () => import('../pages/Artifacts.svelte')),
  place('resources', t('shell.pageResources'), 'chest', files, 'o', () => import('../pages/Resources.svelte')),
  place('policy', t('shell.pageApprovals'), 'shield', admin, 'r', () => import('../pages/Policy.svelte')),
  place('activity', t('shell.pageActivity'), 'list', admin, 'l', () => import('../pages/Activity.svelte')),
  place('usage', t('shell.pageUsage'), 'chart', admin, 'u', () => import('../pages/Usage.svelte')),
  place('settings', t('shell.pageSettings'), 'gear', admin, 'x', () => import('../pages/Settings.svelte')),
  place('health', t('shell.pageHealth'), 'heart', admin, 'e', () => import('../pages/Health.svelte')),
  place('welcome', t('shell.pageWelcome'), 'flag', admin, 'f', () => import('../pages/Welcome.svelte')),
];
