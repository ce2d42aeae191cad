// Colours for code: comments, strings, numbers and the words that most languages share. It knows no grammar; what it
// cannot tell is plain.

export type Span = { kind: '' | 'comment' | 'string' | 'number' | 'word'; text: string };

/** Longer code is not coloured. */
const LONGEST = 50_000;

const WORDS = new Set(
  ('abstract actor and any as assert async await base begin bool boolean break byte case catch chan char class companion const constexpr constructor continue data debugger ' +
    'declare def default defer defmodule del delegate delete do double elif else elsif end ensure enum except explicit export extends extern fallthrough false final finally fixed float fn for ' +
    'foreach friend from fun func function get global go goto guard if impl implements import in include inline inout instanceof int interface internal into is it keyof lambda lateinit lazy let ' +
    'local lock long loop macro match mod module mut namespace native new nil none None nonlocal not null nullptr object of open operator or out override package params pass private protected ' +
    'protocol proc pub public raise range readonly ref register repeat require rescue return sealed select self sealed set short signed sizeof static string struct super suspend switch ' +
    'synchronized template then this throw throws trait transient true True False try type typealias typedef typeof typename uint union unless unsafe unsigned until use using val var vararg virtual ' +
    'void volatile when where while with yield fi done echo esac exit export local readonly set shift source unset trap ' +
    'ADD ALL ALTER AND ARG AS ASC BEGIN BETWEEN BY CASE CMD COLUMN COMMIT COPY CREATE CROSS DEFAULT DELETE DESC DISTINCT DROP ELSE END ENTRYPOINT ENV EXISTS EXPOSE FOREIGN FROM FULL FUNCTION ' +
    'GROUP HAVING IF IN INDEX INNER INSERT INTO IS JOIN KEY LEFT LIKE LIMIT NOT NULL OFFSET ON OR ORDER OUTER OVER PARTITION PRIMARY REFERENCES RETURNING RIGHT ROLLBACK RUN SELECT SET ' +
    'TABLE THEN UNION UNIQUE UPDATE USER USING VALUES VIEW VOLUME WHEN WHERE WITH WORKDIR').split(' '),
);

const of = (names: string) => new Set(names.split(' '));
const HASH = of('python py sh bash shell zsh fish console yaml yml toml ruby rb make makefile dockerfile docker r ini conf perl pl elixir ex nim julia jl nix terraform tf hcl cmake graphql gql powershell ps1 pwsh env dotenv properties nginx awk crystal coffee');
const DASH = of('sql psql postgres postgresql mysql sqlite plsql lua haskell hs ada elm vhdl');
const PERCENT = of('latex tex matlab octave erlang erl prolog');
const SEMICOLON = of('lisp clojure clj scheme racket asm nasm elisp');
const MARKUP = of('html xml svg svelte vue xhtml rss plist');
const PLAIN = of(' text txt plain plaintext markdown md diff patch output log math');

const STRINGS = '"""[\\s\\S]*?"""|"(?:[^"\\\\\\n]|\\\\.)*"|\'(?:[^\'\\\\\\n]|\\\\.)*\'|`(?:[^`\\\\]|\\\\.)*`';
/** Comments, strings, entities, and the names of elements. */
const MARKUP_PARTS = '(<!--[\\s\\S]*?(?:-->|$))|("[^"<]*"|\'[^\'<]*\')|(&#?\\w+;)|((?!))|(<\\/?[A-Za-z][\\w:.-]*|\\/?>)';

function comments(language: string): string {
  if (HASH.has(language)) return '#[^\\n]*';
  if (DASH.has(language)) return '--[^\\n]*|\\/\\*[\\s\\S]*?(?:\\*\\/|$)';
  if (PERCENT.has(language)) return '%[^\\n]*';
  if (SEMICOLON.has(language)) return ';[^\\n]*';
  if (language === 'css' || language === 'json') return '\\/\\*[\\s\\S]*?(?:\\*\\/|$)';
  if (language === 'php') return '#[^\\n]*|\\/\\/[^\\n]*|\\/\\*[\\s\\S]*?(?:\\*\\/|$)';
  return '\\/\\/[^\\n]*|\\/\\*[\\s\\S]*?(?:\\*\\/|$)';
}

/** The code in coloured pieces, which together are the code. */
export function highlight(code: string, language: string): Span[] {
  const named = language.toLowerCase();
  if (PLAIN.has(named) || code.length > LONGEST) return [{ kind: '', text: code }];
  const pattern = new RegExp(MARKUP.has(named) ? MARKUP_PARTS : `(${comments(named)})|(${STRINGS})|(\\b\\d[\\w.]*\\b)|([@$]?[A-Za-z_]\\w*)`, 'g');
  const spans: Span[] = [];
  const put = (kind: Span['kind'], text: string) => {
    const last = spans.at(-1);
    if (last?.kind === kind) last.text += text;
    else if (text) spans.push({ kind, text });
  };
  let from = 0;
  for (const match of code.matchAll(pattern)) {
    put('', code.slice(from, match.index));
    const kind = match[1] ? 'comment' : match[2] ? 'string' : match[3] ? 'number' : match[5] || WORDS.has(match[0]) || match[0].startsWith('@') ? 'word' : '';
    put(kind, match[0]);
    from = match.index + match[0].length;
  }
  put('', code.slice(from));
  return spans;
}
