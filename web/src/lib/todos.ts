// Times of todos: the files have them in UTC, to the minute and without saying so.

import { plain } from './safe';
import { when } from './words';

/** A time from the files where one looks; what is none is left as it is. */
export function noted(text: string | null | undefined): string {
  const [, day, time] = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d(?::\d\d)?)$/.exec(text ?? '') ?? [];
  return when(day ? `${day}T${time}Z` : (text ?? null)) || plain(text ?? '', 30);
}
