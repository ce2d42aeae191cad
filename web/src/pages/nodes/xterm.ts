// xterm.js under our content security policy, which refuses `<style>` elements with text and `style` attributes.
// xterm writes both. While it opens, it gets constructed style sheets instead of `<style>` elements, and spans set their
// style as a property; the policy allows both.

import { Terminal, type ITheme } from '@xterm/xterm';
import '@xterm/xterm/css/xterm.css';

/** A stand-in for `<style>`: its text becomes a constructed style sheet for as long as it is in the document. */
function styleElement(): HTMLElement {
  const element = document.createElement('span');
  element.hidden = true;
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  Object.defineProperty(element, 'textContent', { set: (text: string) => sheet.replaceSync(text), get: () => '' });
  const { remove } = element;
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet);
    remove.call(element);
  };
  return element;
}

// The rows' spans come from the document itself, so this is set for all spans; nothing else here writes that attribute.
const { setAttribute } = HTMLSpanElement.prototype;
HTMLSpanElement.prototype.setAttribute = function (this: HTMLSpanElement, name: string, value: string) {
  if (name === 'style') this.style.cssText = value;
  else setAttribute.call(this, name, value);
};

/** Opens a terminal in an element. Its style elements are created meanwhile, and only then. */
function open(terminal: Terminal, element: HTMLElement): void {
  const real = document.createElement.bind(document);
  document.createElement = ((tag: string) => (tag === 'style' ? styleElement() : real(tag))) as typeof document.createElement;
  try {
    terminal.open(element);
  } finally {
    Reflect.deleteProperty(document, 'createElement');
  }
}

const ANSI = {
  light: { black: '#22201c', red: '#a8231c', green: '#1b6b3c', yellow: '#7d5200', blue: '#1f5fa8', magenta: '#8a2f8f', cyan: '#0b6662', white: '#6b665c', brightBlack: '#6b665c', brightRed: '#c4332b', brightGreen: '#22804a', brightYellow: '#8f5f00', brightBlue: '#2a6fc0', brightMagenta: '#9c3fa1', brightCyan: '#107a75', brightWhite: '#22201c' },
  dark: { black: '#30342e', red: '#ff9a91', green: '#7ed09a', yellow: '#ecbd63', blue: '#8ab8f2', magenta: '#d8a6e0', cyan: '#74cfc5', white: '#d5d3ca', brightBlack: '#8d9388', brightRed: '#ffb3ac', brightGreen: '#9be3b3', brightYellow: '#f5d08a', brightBlue: '#a9cbf7', brightMagenta: '#e6c1ec', brightCyan: '#98e2da', brightWhite: '#ffffff' },
} satisfies Record<string, ITheme>;

/** The colours of the page, as a terminal takes them. */
function theme(): ITheme {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const dark = style.colorScheme.includes('dark');
  return { ...(dark ? ANSI.dark : ANSI.light), background: colour('--sunken'), foreground: colour('--text'), cursor: colour('--accent'), cursorAccent: colour('--sunken'), selectionBackground: dark ? '#3d5a57' : '#bfe0dc' };
}

export type Screen = {
  terminal: Terminal;
  /** Makes it as large as its element; gives back the size. */
  fit(): { cols: number; rows: number };
  /** Takes over the page's colours. */
  recolour(): void;
};

/** A terminal in an element that is in the document. */
export function screenIn(element: HTMLElement, label: string): Screen {
  const terminal = new Terminal({
    fontFamily: getComputedStyle(document.documentElement).getPropertyValue('--mono'),
    fontSize: 13,
    lineHeight: 1.2,
    scrollback: 5_000,
    cursorBlink: !matchMedia('(prefers-reduced-motion: reduce)').matches,
    screenReaderMode: true,
    minimumContrastRatio: 4.5,
    macOptionIsMeta: true,
    theme: theme(),
  });
  open(terminal, element);
  terminal.textarea?.setAttribute('aria-label', label);
  return {
    terminal,
    fit() {
      const grid = element.querySelector<HTMLElement>('.xterm-screen');
      const cell = grid && { width: grid.clientWidth / terminal.cols, height: grid.clientHeight / terminal.rows };
      if (cell && cell.width > 0 && cell.height > 0 && element.clientWidth > 0) {
        // The scroll bar lies over the right edge.
        const cols = Math.max(20, Math.floor((element.clientWidth - 14) / cell.width));
        const rows = Math.max(5, Math.floor(element.clientHeight / cell.height));
        if (cols !== terminal.cols || rows !== terminal.rows) terminal.resize(cols, rows);
      }
      return { cols: terminal.cols, rows: terminal.rows };
    },
    recolour: () => void (terminal.options.theme = theme()),
  };
}
