// A conversation as a file, made in the browser.

import { withFiles } from './attached';
import type { Item } from './items';

/** A fence that the text inside cannot end. */
function fenced(text: string, language = ''): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map((run) => run[0].length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text.replace(/\n$/, '')}\n${fence}`;
}

const time = (at: number | null): string => (at === null ? '' : ` (${new Date(at).toISOString()})`);

function section(item: Item): string {
  switch (item.kind) {
    case 'user':
      return `## ${item.from || 'You'}${time(item.at)}\n\n${withFiles(item.text, item.files)}${item.pictures.length ? `\n\n*${item.pictures.length} image(s)*` : ''}`;
    case 'agent': {
      const thinking = item.thinking ? `<details><summary>Reasoning</summary>\n\n${item.thinking}\n\n</details>\n\n` : '';
      return `## Agent${time(item.at)}\n\n${thinking}${item.text}${item.stopped ? '\n\n*Stopped*' : ''}`;
    }
    case 'tool':
      return `### Tool: ${item.name} (${item.state})\n\n${fenced(JSON.stringify(item.args ?? {}, null, 2), 'json')}${item.result ? `\n\n${fenced(item.result)}` : ''}`;
    case 'error':
      return `> Error: ${[item.message, item.hint].filter(Boolean).join('\n').replaceAll('\n', '\n> ')}`;
    default:
      return '';
  }
}

/** For people. */
export function inMarkdown(title: string, items: Item[]): string {
  const sections = items.map(section).filter(Boolean);
  return `# ${title.replaceAll('\n', ' ')}\n\n${sections.join('\n\n')}\n`;
}

/** For programs: every message, call and cost, without the bytes of pictures. */
export function inJson(about: Record<string, unknown>, items: Item[]): string {
  const bare = items.map((item) => {
    const rest: Partial<Item> = { ...item };
    delete rest.key;
    return 'pictures' in rest ? { ...rest, pictures: rest.pictures?.map(({ mimeType, url }) => ({ mimeType, ...(url ? { url } : {}) })) } : rest;
  });
  return `${JSON.stringify({ ...about, items: bare }, null, 2)}\n`;
}

/** Offers a text as a download. */
export function save(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
