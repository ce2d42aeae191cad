// Renders the guide, an mdBook source tree in docs/guide, into dist/docs: one HTML file per chapter and a search
// index. The gateway embeds them and serves them at /docs. mdBook itself is not used, because compiling it would
// take a newcomer longer than everything else; `mdbook build docs/guide` works on the same files.
import { access, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Marked } from 'marked';

const source = new URL('../../docs/guide/src/', import.meta.url);
const dist = new URL('../dist/', import.meta.url);
const out = new URL('docs/', dist);

/** @typedef {{ title: string, file: string, url: string, part: string }} Chapter */
/** @typedef {{ url: string, chapter: string, heading: string, text: string }} Section */

/** Chapters whose tables are looked up row by row, in the index as on the page. */
const BY_ROW = new Set(['reference/config.md', 'reference/http.md']);
/** Characters of a generated section that the index holds. */
const REFERENCE_TEXT = 240;

const escape = (/** @type {string} */ text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
const unescape = (/** @type {string} */ text) =>
  text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&');
/** Text of rendered Markdown. */
const plain = (/** @type {string} */ html) => unescape(html.replaceAll(/<[^>]*>/g, '')).replaceAll(/\s+/g, ' ').trim();
/** Ids of headings, as mdBook makes them. */
const slug = (/** @type {string} */ text) => text.trim().toLowerCase().replaceAll(/\s/g, '-').replaceAll(/[^\p{L}\p{N}_-]/gu, '');
const html = (/** @type {string} */ file) => file.replace(/(^|\/)README\.md$/, '$1index.html').replace(/\.md$/, '.html');

/** @returns {Promise<Chapter[]>} */
async function chapters() {
  const found = [];
  let part = '';
  for (const line of (await readFile(new URL('SUMMARY.md', source), 'utf8')).split('\n')) {
    const heading = /^# (.+)$/.exec(line);
    if (heading?.[1] && heading[1] !== 'Summary') part = heading[1];
    const entry = /^\s*(?:[-*] )?\[(.+)\]\((.+\.md)\)\s*$/.exec(line);
    if (entry?.[1] && entry[2]) found.push({ title: entry[1], file: entry[2].replace(/^\.\//, ''), part, url: '' });
  }
  return found.map((chapter) => ({ ...chapter, url: html(chapter.file) }));
}

/** A chapter's Markdown, with the files that it includes. */
async function text(/** @type {string} */ file) {
  const here = new URL(file, source);
  const written = await readFile(here, 'utf8');
  const parts = written.split(/\{\{#include ([^}]+)\}\}/);
  const read = parts.map((part, at) => (at % 2 ? readFile(new URL(part.trim(), here), 'utf8') : part));
  return (await Promise.all(read)).join('');
}

/** A drawing as part of the page, so that it follows the theme that somebody chose. */
async function drawing(/** @type {URL} */ file, /** @type {string} */ title) {
  const svg = await readFile(file, 'utf8');
  const bare = svg.replace(/<\?xml[^>]*>/, '').replaceAll(/<style>[\s\S]*?<\/style>/g, '').trim();
  return bare.replace('<svg ', `<svg class="drawing" role="img" aria-label="${escape(title)}" `);
}

/**
 * The HTML of a chapter, its headings, and what the search finds in it.
 * @param {Chapter} chapter
 * @param {Set<string>} known addresses that links may lead to
 */
async function render(chapter, known) {
  const reference = chapter.file.startsWith('reference/');
  /** @type {{ level: number, id: string, text: string }[]} */
  const headings = [];
  /** @type {Section[]} */
  const sections = [];
  /** @type {Map<string, number>} */
  const ids = new Map();
  const fresh = (/** @type {string} */ wanted) => {
    const seen = ids.get(wanted) ?? 0;
    ids.set(wanted, seen + 1);
    return seen ? `${wanted}-${seen}` : wanted;
  };
  const index = (/** @type {string} */ heading, /** @type {string} */ id) =>
    sections.push({ url: id === headings[0]?.id ? chapter.url : `${chapter.url}#${id}`, chapter: chapter.title, heading, text: '' });
  const say = (/** @type {string} */ words) => {
    const section = sections.at(-1);
    if (!section || (reference && section.text.length > REFERENCE_TEXT)) return;
    section.text = `${section.text} ${words}`.trim();
  };

  /** @type {Map<string, string>} */
  const drawings = new Map();
  const marked = new Marked({ gfm: true });
  marked.use({
    async: true,
    async walkTokens(token) {
      if (token.type === 'image' && token.href.endsWith('.svg')) drawings.set(token.href, await drawing(new URL(token.href, new URL(chapter.file, source)), token.text));
    },
    renderer: {
      heading({ tokens, depth }) {
        const inner = this.parser.parseInline(tokens);
        const words = plain(inner);
        const id = fresh(slug(words));
        headings.push({ level: depth, id, text: words });
        index(words, id);
        const anchor = depth === 1 ? '' : `<a class="anchor" href="#${id}" aria-label="Link to ${escape(words)}">#</a>`;
        return `<h${depth} id="${id}">${inner}${anchor}</h${depth}>\n`;
      },
      paragraph({ tokens }) {
        const inner = this.parser.parseInline(tokens);
        say(plain(inner));
        return inner.startsWith('<svg') ? `${inner}\n` : `<p>${inner}</p>\n`;
      },
      listitem(item) {
        const inner = this.parser.parse(item.tokens);
        if (!item.loose) say(plain(inner));
        return `<li>${inner}</li>\n`;
      },
      code({ text, lang }) {
        const language = lang?.split(/[\s,]/)[0] ?? '';
        if (!reference) say(text);
        return `<div class="block"><pre tabindex="0"><code class="language-${escape(language)}">${escape(text)}</code></pre></div>\n`;
      },
      table(table) {
        const cells = (/** @type {import('marked').Tokens.TableCell[]} */ row) => row.map((cell) => this.parser.parseInline(cell.tokens));
        const head = cells(table.header).map((cell) => `<th scope="col">${cell}</th>`).join('');
        const rows = table.rows.map(cells).map((row) => {
          const [key = '', ...others] = row.map(plain);
          let id = '';
          if (BY_ROW.has(chapter.file)) {
            id = fresh(slug(key.replaceAll(/[./{} ]+/g, '-')));
            index(key, id);
            say(others.join(' '));
          } else if (!reference) say([key, ...others].join(' '));
          // Long keys break after a dot or a slash, and not in the middle of a word.
          const broken = row.map((cell, at) => (id && !at ? cell.replaceAll(/(?<!<)[./](?=\w|\{)/g, '$&<wbr>') : cell));
          return `<tr${id && ` id="${id}"`}>${broken.map((cell) => `<td>${cell}</td>`).join('')}</tr>`;
        });
        return `<div class="wide" tabindex="0" role="group" aria-label="Table"><table><thead><tr>${head}</tr></thead><tbody>${rows.join('\n')}</tbody></table></div>\n`;
      },
      link({ href, title, tokens }) {
        const inner = this.parser.parseInline(tokens);
        let to = href;
        if (!/^[a-z]+:/.test(href) && !href.startsWith('#')) {
          const [path = '', anchor] = href.split('#');
          const url = html(path);
          const target = posix.normalize(posix.join(posix.dirname(chapter.url), url));
          if (!known.has(target)) throw new Error(`${chapter.file}: the link ${href} leads to no chapter`);
          to = anchor ? `${url}#${anchor}` : url;
        }
        return `<a href="${escape(to)}"${title ? ` title="${escape(title)}"` : ''}>${inner}</a>`;
      },
      image({ href }) {
        const svg = drawings.get(href);
        if (svg) return svg;
        throw new Error(`${chapter.file}: ${href} is not an SVG drawing; other pictures are not embedded`);
      },
      // Generated references name placeholders such as <NAME>: no HTML is meant anywhere, except comments.
      html({ text: words }) {
        return words.trim().startsWith('<!--') ? '' : escape(words);
      },
    },
  });
  const body = await marked.parse(await text(chapter.file));
  return { body, sections, headings: headings.filter(({ level }) => level === 2 || level === 3) };
}

/**
 * A whole page.
 * @param {Chapter[]} all
 * @param {Chapter} chapter
 * @param {Awaited<ReturnType<typeof render>>} rendered
 * @param {{ script: string, styles: string[] }} assets
 */
function page(all, chapter, { body, headings }, assets) {
  const base = '../'.repeat(chapter.url.split('/').length - 1);
  const at = all.indexOf(chapter);
  const [before, after] = [all[at - 1], all[at + 1]];
  const parts = [...new Set(all.map(({ part }) => part))];
  const entry = (/** @type {Chapter} */ one) => `<li><a href="${base}${one.url}"${one === chapter ? ' aria-current="page"' : ''}>${escape(one.title)}</a></li>`;
  const list = parts.map((part) => {
    const entries = all.filter((one) => one.part === part).map(entry).join('\n');
    return `${part && `<h2>${escape(part)}</h2>`}<ul>${entries}</ul>`;
  });
  const toc = headings.map(({ level, id, text: words }) => `<li${level > 2 ? ' class="deeper"' : ''}><a href="#${id}">${escape(words)}</a></li>`);
  const roomy = toc.length < 2;
  const step = (/** @type {Chapter | undefined} */ to, /** @type {string} */ label, /** @type {string} */ name) =>
    to ? `<a class="${name}" rel="${name === 'after' ? 'next' : 'prev'}" href="${base}${to.url}"><small>${label}</small> ${escape(to.title)}</a>` : '';
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escape(chapter.title)} · Manyhands guide</title>
<link rel="icon" href="${base}../mark.svg" type="image/svg+xml">
${assets.styles.map((file) => `<link rel="stylesheet" href="${base}../${file}">`).join('\n')}
<script type="module" src="${base}../${assets.script}"></script>
</head>
<body data-base="${base}">
<a class="skip" href="#main">Skip to content</a>
<header class="bar">
<button type="button" class="bare" id="menu" aria-label="Chapters" aria-expanded="false" aria-controls="chapters"><svg width="18" height="18" viewBox="0 0 18 18" aria-hidden="true"><path d="M2 4h14M2 9h14M2 14h14" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round"/></svg></button>
<a class="brand" href="${base}index.html" aria-label="Manyhands guide"><img src="${base}../mark.svg" alt="" width="26" height="26"> <span>Manyhands</span> <small>guide</small></a>
<div class="search" role="search" hidden>
<input id="search" type="search" role="combobox" placeholder="Search ( / )" aria-label="Search the guide" aria-expanded="false" aria-controls="results" aria-autocomplete="list" autocomplete="off" spellcheck="false">
<div id="results" role="listbox" aria-label="Results" hidden></div>
<span id="found" class="unseen" role="status"></span>
</div>
<button type="button" class="bare" id="theme" aria-label="Theme" hidden><svg width="18" height="18" viewBox="0 0 18 18" aria-hidden="true"><circle cx="9" cy="9" r="6.5" fill="none" stroke="currentColor" stroke-width="1.6"/><path d="M9 2.500a6.500 6.500 0 0 1 0 13z" fill="currentColor"/></svg></button>
<a class="bare back" href="${base}../"><span>Open the </span>gateway</a>
</header>
<div class="columns${roomy ? ' roomy' : ''}">
<nav class="chapters" id="chapters" aria-label="Chapters" tabindex="-1">
${list.join('\n')}
</nav>
<main id="main" tabindex="-1">
<article>
${body}
<nav class="next" aria-label="Previous and next chapter">${step(before, 'Previous', 'before')}${step(after, 'Next', 'after')}</nav>
</article>
</main>
${roomy ? '' : `<nav class="toc" aria-label="On this page">${toc.length > 1 ? `<h2>On this page</h2><ul>${toc.join('\n')}</ul>` : ''}</nav>`}
</div>
</body>
</html>
`;
}

const manifest = JSON.parse(await readFile(new URL('.vite/manifest.json', dist), 'utf8'));
const client = manifest['guide/main.ts'];
const assets = { script: client.file, styles: client.css ?? [] };
const all = await chapters();
for (const { file } of all) await access(new URL(file, source));
const known = new Set(all.map(({ url }) => url));
/** @type {Section[]} */
const index = [];
for (const chapter of all) {
  const rendered = await render(chapter, known);
  index.push(...rendered.sections);
  const file = new URL(chapter.url, out);
  await mkdir(dirname(fileURLToPath(file)), { recursive: true });
  await writeFile(file, page(all, chapter, rendered, assets));
}
await writeFile(new URL('search.json', out), JSON.stringify(index));
console.log(`guide: ${all.length} chapters, ${index.length} sections in the search index`);
