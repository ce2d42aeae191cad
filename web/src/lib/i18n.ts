/// <reference types="vite/client" />
// Every text that a person reads on the page, in their language. `src/texts/LANGUAGE/AREA.json` holds the messages of one
// area; English decides which keys exist, and the compiler refuses a language that lacks one.
//
// A message is ICU's syntax, reduced to what we need: `{name}` inserts a value, and
// `{n, plural, one {# match} other {# matches}}` chooses by number, with `#` as the number.

import { format } from './message';

type English = typeof import('../texts/en').default;
export type Texts = { [Area in keyof English]: { [Name in keyof English[Area]]: string } };
export type Key = { [Area in keyof English & string]: `${Area}.${keyof English[Area] & string}` }[keyof English & string];
export type Values = Record<string, string | number>;

export const languages = { en: 'English', de: 'Deutsch', ja: '日本語' } as const;
export type Language = keyof typeof languages;

const STORED = 'language';
const known = (name: string | null | undefined): name is Language => name !== null && name !== undefined && Object.hasOwn(languages, name);

/** The language chosen here, or null to follow the browser. */
export function chosen(): Language | null {
  try {
    const name = localStorage.getItem(STORED);
    return known(name) ? name : null;
  } catch {
    return null;
  }
}

/** The first of the preferred languages that we have; regions count as their language. */
export function preferred(wanted: readonly string[]): Language {
  return wanted.map((tag) => tag.toLowerCase().split('-')[0]).find(known) ?? 'en';
}

export const language: Language = chosen() ?? preferred(typeof navigator === 'undefined' ? [] : (navigator.languages ?? []));

/** The language with the region that the browser prefers for it: dates and numbers differ between en-US and en-GB. */
export const locale: string = (typeof navigator === 'undefined' ? [] : (navigator.languages ?? [])).find((tag) => tag.toLowerCase().split('-')[0] === language) ?? language;

type Area = Record<string, string>;
const files = import.meta.glob<Area>(['../texts/*/*.json', '!../texts/*/{common,shell,login,parts}.json'], { import: 'default' });
const first = import.meta.glob<Record<string, Area>>('../texts/*/first.ts', { import: 'default' });
const texts: Record<string, Area> = {};

/** Loads the messages of an area. A module that shows some imports `texts/use/AREA`, which awaits this while modules
 *  load, so that texts can be used anywhere, also in constants, and a page brings only its own. */
export async function use(area: keyof English): Promise<void> {
  texts[area] ??= (await files[`../texts/${language}/${area}.json`]?.()) ?? {};
}

// What the shell and shared parts show is there before any of them.
Object.assign(texts, await first[`../texts/${language}/first.ts`]?.());
if (typeof document !== 'undefined') document.documentElement.lang = language;

/** The message of a key, with its values. */
export function t(key: Key, values?: Values): string {
  const dot = key.indexOf('.');
  const message = texts[key.slice(0, dot)]?.[key.slice(dot + 1)];
  return message === undefined ? key : format(message, values, language);
}

/** Uses another language from now on; null follows the browser. The page loads again, because constants hold texts. */
export function choose(wanted: Language | null): void {
  try {
    if (wanted) localStorage.setItem(STORED, wanted);
    else localStorage.removeItem(STORED);
  } catch {
    return;
  }
  location.reload();
}
