// The English texts of the page, by their keys: tests find things by what they mean and survive other wordings.

import type { Key, Values } from '../src/lib/i18n';
import { format } from '../src/lib/message';
import de from '../src/texts/de';
import en from '../src/texts/en';

const of = (texts: object, language: string) => (key: Key, values?: Values): string => {
  const [area = '', name = ''] = key.split('.');
  const message = (texts as Record<string, Record<string, string>>)[area]?.[name];
  if (message === undefined) throw new Error(`there is no text ${key}`);
  return format(message, values, language);
};
export const t = of(en, 'en');
export const german = of(de, 'de');

/** A text by a key that is composed, or that belongs to a page which a test only passes through. */
export const word = t as (key: string, values?: Values) => string;
