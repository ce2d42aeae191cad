// What a page of the guide does beyond showing text: search, copying code, the menu on a phone, light and dark.
// Without this script every page can still be read and every link works.

import './guide.css';
import { highlight } from '../src/lib/highlight';
import { search, snippet, type Section } from './search';

const THEME = 'theme';
const root = document.documentElement;
/** Where the guide's folder is, seen from this page. */
const base = document.body.dataset.base ?? '';

function element<K extends keyof HTMLElementTagNameMap>(tag: K, name: string, text = ''): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  made.className = name;
  made.textContent = text;
  return made;
}

// The choice is shared with the page of the gateway, which has the same origin.
function stored(): string | null {
  try {
    return localStorage.getItem(THEME);
  } catch {
    return null;
  }
}
function themed(): void {
  const button = document.querySelector<HTMLButtonElement>('#theme');
  const show = (theme: string | null) => {
    if (theme === 'light' || theme === 'dark') root.dataset.theme = theme;
    else delete root.dataset.theme;
    const label = `Theme: ${theme ?? 'system'}`;
    button?.setAttribute('aria-label', label);
    button?.setAttribute('title', label);
  };
  show(stored());
  if (!button) return;
  button.hidden = false;
  button.addEventListener('click', () => {
    const now = stored();
    const next = now === null ? 'dark' : now === 'dark' ? 'light' : null;
    try {
      if (next) localStorage.setItem(THEME, next);
      else localStorage.removeItem(THEME);
    } catch {
      // A browser that stores nothing follows the system.
    }
    show(next);
  });
}

function code(): void {
  for (const block of document.querySelectorAll<HTMLElement>('pre > code')) {
    const text = block.textContent ?? '';
    const language = /language-(\w+)/.exec(block.className)?.[1] ?? '';
    const spans = highlight(text, language).map(({ kind, text }) => (kind ? element('span', `code-${kind}`, text) : text));
    block.replaceChildren(...spans);
    // Browsers offer the clipboard only on HTTPS and on this machine.
    if (!('clipboard' in navigator)) continue;
    const button = element('button', 'copy', 'Copy');
    button.type = 'button';
    button.addEventListener('click', () => {
      const done = (label: string) => {
        button.textContent = label;
        setTimeout(() => (button.textContent = 'Copy'), 1_500);
      };
      navigator.clipboard.writeText(text.trimEnd()).then(() => done('Copied'), () => done('Not allowed'));
    });
    block.parentElement?.parentElement?.append(button);
  }
}

function menu(): void {
  const button = document.querySelector<HTMLButtonElement>('#menu');
  button?.addEventListener('click', () => {
    const open = document.body.classList.toggle('menu-open');
    button.setAttribute('aria-expanded', String(open));
  });
}

let sections: Promise<Section[]> | undefined;
/** The index is fetched with the first search, so that reading a page costs nothing. */
function index(): Promise<Section[]> {
  sections ??= fetch(`${base}search.json`).then((response) => {
    if (!response.ok) throw new Error(`the search index was answered with ${response.status}`);
    return response.json() as Promise<Section[]>;
  });
  // A failed request must not make every later search fail.
  sections.catch(() => (sections = undefined));
  return sections;
}

function searching(): void {
  const field = document.querySelector<HTMLInputElement>('#search');
  const list = document.querySelector<HTMLElement>('#results');
  const status = document.querySelector<HTMLElement>('#found');
  if (!field || !list || !status) return;
  let at = -1;
  const options = () => [...list.querySelectorAll<HTMLAnchorElement>('a')];
  const select = (to: number) => {
    const all = options();
    at = all.length ? (to + all.length) % all.length : -1;
    all.forEach((one, index) => one.setAttribute('aria-selected', String(index === at)));
    if (at < 0) field.removeAttribute('aria-activedescendant');
    else {
      field.setAttribute('aria-activedescendant', `result-${at}`);
      all[at]?.scrollIntoView({ block: 'nearest' });
    }
  };
  const close = () => {
    list.hidden = true;
    field.setAttribute('aria-expanded', 'false');
    select(-1);
  };
  const show = async () => {
    const query = field.value.trim();
    if (!query) {
      status.textContent = '';
      list.replaceChildren();
      close();
      return;
    }
    const found = await index().then((all) => search(all, query), () => null);
    if (field.value.trim() !== query) return;
    const made = (found ?? []).map(({ section }, index) => {
      const link = element('a', 'result');
      link.id = `result-${index}`;
      link.href = base + section.url;
      link.setAttribute('role', 'option');
      link.tabIndex = -1;
      const where = element('span', 'where', section.heading === section.chapter ? section.chapter : `${section.chapter} › ${section.heading}`);
      const text = element('span', 'text');
      text.append(...snippet(section.text, query).map((piece) => (piece.match ? element('mark', '', piece.text) : piece.text)));
      link.append(where, text);
      return link;
    });
    list.replaceChildren(...made);
    list.hidden = !made.length;
    field.setAttribute('aria-expanded', String(made.length > 0));
    status.textContent = found === null ? 'Search failed: cannot load the index' : made.length ? `${made.length} result${made.length === 1 ? '' : 's'}` : 'No results';
    at = -1;
    if (made.length) select(0);
  };
  field.addEventListener('input', () => void show());
  field.addEventListener('focus', () => void show());
  field.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown') select(at + 1);
    else if (event.key === 'ArrowUp') select(at - 1);
    else if (event.key === 'Enter') options()[at]?.click();
    else if (event.key === 'Escape') {
      field.value = '';
      void show();
      field.blur();
    } else return;
    event.preventDefault();
  });
  list.addEventListener('click', close);
  document.addEventListener('click', (event) => {
    if (event.target instanceof Node && !list.contains(event.target) && event.target !== field) close();
  });
  document.addEventListener('keydown', (event) => {
    const typing = event.target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
    if (event.key !== '/' || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    field.focus();
  });
  field.closest('.search')?.removeAttribute('hidden');
}

themed();
code();
menu();
searching();
document.querySelector('.chapters [aria-current]')?.scrollIntoView({ block: 'nearest' });
