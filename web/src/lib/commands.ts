// What the command palette offers: pages and actions at once, and what the gateway knows once it is asked.

import type { Section } from '../../guide/search';
import { search as searchGuide, snippet } from '../../guide/search';
import type { SessionView, ToolView } from './answers';
import { dotted, known } from './config';
import { fits } from './fuzzy';
import { blob, get, ifThere } from './http';
import { choose, chosen, language, languages, t, type Language } from './i18n';
import { live } from './live.svelte';
import { places } from './places';
import { app } from './pwa.svelte';
import { go } from './route.svelte';
import { flowing, plain } from './safe';
import type { Schema } from './schema';
import { talkName, titled } from './talks';
import { theme, type Theme } from './theme.svelte';

export type Command = {
  /** Names it for good, so that it is found again among those used last. */
  id: string;
  group: string;
  icon: string;
  title: string;
  about: string;
  /** Keys that do the same. */
  keys?: string[];
  /** Found also by this. */
  also?: string;
  act: () => void;
};
export type Group = { name: string; commands: Command[] };

const names = {
  recent: t('shell.foundRecent'),
  actions: t('shell.foundActions'),
  pages: t('shell.foundPages'),
  conversations: t('shell.foundConversations'),
  messages: t('shell.foundMessages'),
  tools: t('shell.foundTools'),
  settings: t('shell.foundSettings'),
  help: t('shell.foundHelp'),
  shortcuts: t('shell.foundShortcuts'),
};

const THEMES: [Theme, string, string][] = [['system', t('shell.themeSystem'), 'system'], ['light', t('shell.themeLight'), 'sun'], ['dark', t('shell.themeDark'), 'moon']];
/** The theme that is another than the one seen now. */
const otherTheme = (): Theme => ((theme.now === 'system' ? matchMedia('(prefers-color-scheme: dark)').matches : theme.now === 'dark') ? 'light' : 'dark');

/** The key that stands before letters here. */
export const MOD = /Mac|iP(hone|ad)/.test(globalThis.navigator?.platform ?? '') ? '⌘' : 'Ctrl';

/** General keys, as the list of shortcuts and the palette show them. */
export const shortcuts: { keys: string[]; does: string; chat?: true }[] = [
  { keys: [MOD, 'K'], does: t('shell.keySearch') },
  { keys: ['/'], does: t('shell.keyFind') },
  { keys: ['?'], does: t('shell.keyHelp') },
  { keys: ['Esc'], does: t('shell.keyClose') },
  { keys: ['Enter'], does: t('shell.keySend'), chat: true },
  { keys: ['Shift', 'Enter'], does: t('shell.keyNewLine'), chat: true },
  { keys: ['↑'], does: t('shell.keyPrevious'), chat: true },
];

/** Commands that need no answer of the gateway. `help` shows the keyboard shortcuts. */
export function fixed(help: () => void): Command[] {
  const action = (id: string, icon: string, title: string, act: () => void, about = ''): Command => ({ id: `action:${id}`, group: names.actions, icon, title, about, act });
  const title = (id: string) => places.find((place) => place.id === id)?.title ?? '';
  const create = (page: string, what: string, icon: string, label: string, ...rest: (string | Record<string, string>)[]) => action(`${page}-${what}`, icon, label, () => go(page, ...rest), title(page));
  return [
    { ...action('new-chat', 'plus', t('shell.actNewChat'), () => go('chat', 'new'), title('chat')) },
    create('agents', 'agent', 'star', t('shell.actNewAgent'), { new: '1' }),
    create('servers', 'server', 'plug', t('shell.actAddServer'), 'add'),
    create('nodes', 'node', 'node', t('shell.actAddNode'), 'add'),
    create('cron', 'job', 'clock', t('shell.actNewJob'), { new: '1' }),
    create('settings', 'model', 'chip', t('shell.actAddModel'), 'models'),
    create('channels', 'channel', 'send', t('shell.actAddChannel'), 'add'),
    create('settings', 'token', 'key', t('shell.actCreateToken'), 'tokens'),
    create('settings', 'secret', 'lock', t('shell.actAddSecret'), 'secrets'),
    action('theme', 'moon', t('shell.actToggleTheme'), () => theme.set(otherTheme())),
    ...THEMES.map(([id, name, icon]) => action(`theme-${id}`, icon, t('shell.actTheme', { name }), () => theme.set(id))),
    ...(Object.entries(languages) as [Language, string][])
      .filter(([id]) => id !== language)
      .map(([id, name]) => ({ ...action(`language-${id}`, 'globe', t('shell.actLanguage', { name }), () => choose(id)), also: `language ${id}` })),
    ...(chosen() ? [action('language', 'globe', t('shell.languageBrowser', { name: '…' }), () => choose(null))] : []),
    ...(app.installable ? [action('install', 'download', t('shell.install'), () => void app.install())] : []),
    action('shortcuts', 'keyboard', t('shell.shortcuts'), help),
    action('docs', 'book', t('shell.docs'), () => void open('docs/', '_blank', 'noopener')),
    action('reload', 'refresh', t('shell.actReload'), () => location.reload()),
    action('log-out', 'out', t('shell.logOut'), () => void live.logOut()),
    ...places.map((place): Command => ({ id: `page:${place.id}`, group: names.pages, icon: place.icon, title: place.title, about: place.group, keys: ['g', place.key], also: place.id, act: () => go(place.id) })),
    ...shortcuts.map(({ keys, does }): Command => ({ id: `key:${keys.join('+')}`, group: names.shortcuts, icon: 'keyboard', title: does, about: '', keys, also: keys.join(' '), act: help })),
  ];
}

/** Conversations by their titles, and tools by name and description. */
export async function listed(): Promise<Command[]> {
  const [sessions, tools] = await Promise.all([get('/api/sessions', { limit: 200 }).then((found) => found.sessions, () => []), get('/api/tools').then((found) => found.tools, () => [])]);
  const conversation = (one: SessionView & { title?: string | null }): Command => ({ id: `chat:${one.sessionKey}`, group: names.conversations, icon: 'chat', title: talkName(one.sessionKey, one.label || (titled(one.sessionKey) ? one.title : null)), about: '', also: `${one.sessionKey} ${one.title ?? ''}`, act: () => go('chat', one.sessionKey) });
  const tool = (one: ToolView): Command => ({ id: `tool:${one.name}`, group: names.tools, icon: 'tools', title: one.name, about: plain(one.description.split('\n')[0] ?? '', 90), act: () => go('tools', one.name) });
  return [...sessions.map(conversation), ...tools.map(tool)];
}

/** Every single setting of a schema. */
export function settingsIn(root: Schema, keys: string[] = []): string[][] {
  const { schema } = known(root, keys);
  const inner = Object.keys(schema?.properties ?? {});
  return inner.length && keys.length < 5 ? inner.flatMap((key) => settingsIn(root, [...keys, key])) : keys.length ? [keys] : [];
}

/** Settings, each with what it does. */
export async function settings(): Promise<Command[]> {
  const schema = (await ifThere(get('/api/config/schema')))?.schema as Schema | undefined;
  if (!schema) return [];
  return settingsIn(schema).map((keys): Command => {
    const path = dotted(keys);
    return { id: `setting:${path}`, group: names.settings, icon: 'gear', title: path, about: plain((flowing(known(schema, keys).about).split('\n')[0] ?? '').replaceAll('`', ''), 120), act: () => go('settings', { find: path }) };
  });
}

/** The sections of the guide. */
export const guide = async (): Promise<Section[]> => JSON.parse(await (await blob('/docs/search.json')).text()) as Section[];

/** Sections of the guide that fit. */
export function helpFor(sections: Section[], query: string): Command[] {
  return searchGuide(sections, query).slice(0, 5).map(({ section }): Command => {
    const about = snippet(section.text, query).map((piece) => piece.text).join('');
    const title = section.heading === section.chapter ? section.heading : `${section.chapter}: ${section.heading}`;
    return { id: `help:${section.url}`, group: names.help, icon: 'book', title: plain(title, 80), about: plain(about, 160), act: () => void open(`docs/${section.url}`, '_blank', 'noopener') };
  });
}

type Found = { matches: { sessionKey: string; title?: string | null; seq: number; snippet: string }[] };

/** Messages that contain the words; none where the gateway has no such search. */
export async function messages(query: string, signal: AbortSignal): Promise<Command[]> {
  const found = await ifThere(get<Found>('/api/search', { query, limit: 6 }, signal)).catch(() => null);
  return (found?.matches ?? []).map((one): Command => ({ id: `message:${one.sessionKey}:${one.seq}`, group: names.messages, icon: 'chat', title: plain(one.snippet, 200), about: talkName(one.sessionKey, titled(one.sessionKey) ? one.title : null), act: () => go('chat', one.sessionKey, { at: String(one.seq), find: query }) }));
}

const RECENT = 'palette.recent';
const MOST_RECENT = 6;

export function recent(): string[] {
  try {
    const kept = JSON.parse(localStorage.getItem(RECENT) ?? '[]') as unknown;
    return Array.isArray(kept) ? kept.filter((id) => typeof id === 'string') : [];
  } catch {
    return [];
  }
}

/** Remembers what was chosen. */
export function used(id: string): void {
  try {
    localStorage.setItem(RECENT, JSON.stringify([id, ...recent().filter((one) => one !== id)].slice(0, MOST_RECENT)));
  } catch {
    // A browser that stores nothing has no recent commands.
  }
}

/** How many are shown of each group while something is typed. */
const MOST: Record<string, number> = { [names.tools]: 8, [names.actions]: 8 };

/** What is offered: recent first while nothing is typed, and the best groups first afterwards. `searched` was found by the query already. */
export function found(query: string, all: Command[], searched: Command[], last: string[]): Group[] {
  if (!query.trim()) {
    const again = last.map((id) => all.find((one) => one.id === id)).filter((one) => one !== undefined);
    const rest = (name: string, most: number) => ({ name, commands: all.filter((one) => one.group === name && !again.includes(one)).slice(0, most) });
    return [{ name: names.recent, commands: again }, rest(names.actions, 9), rest(names.pages, 20), rest(names.conversations, 5)].filter((group) => group.commands.length);
  }
  const ranked = all.map((command) => ({ command, score: fits(query, [command.title, command.about, command.also ?? '']) })).filter(({ score }) => score > 0);
  ranked.sort((a, b) => b.score - a.score);
  const groups: Group[] = [];
  // The first of each group is its best, so groups come in the order of their best.
  for (const { command } of ranked) {
    const group = groups.find((one) => one.name === command.group);
    if (!group) groups.push({ name: command.group, commands: [command] });
    else if (group.commands.length < (MOST[group.name] ?? 6)) group.commands.push(command);
  }
  for (const name of [names.messages, names.help]) {
    const commands = searched.filter((one) => one.group === name);
    if (commands.length) groups.push({ name, commands });
  }
  return groups;
}
