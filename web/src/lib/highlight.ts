// Colours for code: comments, strings, numbers and the words that most languages share. It knows no
// grammar; what it cannot tell is plain.

export type Span = { kind: '' | 'comment' | 'string' | 'number' | 'word'; text: string };

/** Longer code is not coloured. */
const LONGEST = 50_000;

const WORDS = new Set(
  ('abstract and as async await break case catch class const continue def default defer do elif else end enum export extends ' +
    'extern false final finally fn for from func function go if impl implements import in interface is lambda let loop match ' +
    'mod module mut new nil none None not null or package pass private protected pub public raise ref return select self ' +
    'static struct super switch template this throw trait true True False try type typeof union unsafe use using var virtual ' +
    'void where while with yield then fi done echo exit local set unset SELECT FROM WHERE INSERT UPDATE DELETE CREATE TABLE ' +
    'JOIN ORDER GROUP BY LIMIT VALUES INTO AND OR NOT NULL').split(' '),
);

const HASH = new Set(['python', 'py', 'sh', 'bash', 'shell', 'zsh', 'yaml', 'yml', 'toml', 'ruby', 'rb', 'make', 'makefile', 'dockerfile', 'r', 'ini', 'conf']);
const DASH = new Set(['sql', 'lua', 'haskell', 'hs', 'ada']);
const PLAIN = new Set(['', 'text', 'txt', 'plain', 'markdown', 'md', 'diff', 'console', 'output']);

/** The code in coloured pieces, which together are the code. */
export function highlight(code: string, language: string): Span[] {
  const named = language.toLowerCase();
  if (PLAIN.has(named) || code.length > LONGEST) return [{ kind: '', text: code }];
  const comment = HASH.has(named) ? '#[^\\n]*' : DASH.has(named) ? '--[^\\n]*' : '\\/\\/[^\\n]*|\\/\\*[\\s\\S]*?(?:\\*\\/|$)';
  const string = '"(?:[^"\\\\\\n]|\\\\.)*"|\'(?:[^\'\\\\\\n]|\\\\.)*\'|`(?:[^`\\\\]|\\\\.)*`';
  const pattern = new RegExp(`(${comment})|(${string})|(\\b\\d[\\w.]*\\b)|([A-Za-z_]\\w*)`, 'g');
  const spans: Span[] = [];
  const put = (kind: Span['kind'], text: string) => {
    const last = spans.at(-1);
    if (last?.kind === kind) last.text += text;
    else if (text) spans.push({ kind, text });
  };
  let from = 0;
  for (const match of code.matchAll(pattern)) {
    put('', code.slice(from, match.index));
    const kind = match[1] ? 'comment' : match[2] ? 'string' : match[3] ? 'number' : WORDS.has(match[0]) ? 'word' : '';
    put(kind, match[0]);
    from = match.index + match[0].length;
  }
  put('', code.slice(from));
  return spans;
}
