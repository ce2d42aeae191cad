import { describe, expect, it } from 'vitest';
import { address, inline, markdown, outline, type Block, type Inline } from '../src/lib/markdown';

const text = (words: string): Inline => ({ kind: 'text', text: words });
const paragraph = (words: string): Block => ({ kind: 'paragraph', inner: [text(words)] });

/** Every link anywhere in the tree. */
function links(tree: unknown): string[] {
  if (Array.isArray(tree)) return tree.flatMap(links);
  if (typeof tree !== 'object' || tree === null) return [];
  const here = 'href' in tree ? [String(tree.href)] : [];
  return [...here, ...Object.values(tree).flatMap(links)];
}

describe('words', () => {
  const cases: [string, Inline[]][] = [
    ['plain', [text('plain')]],
    ['a **b** c', [text('a '), { kind: 'strong', inner: [text('b')] }, text(' c')]],
    ['*a* and _b_', [{ kind: 'em', inner: [text('a')] }, text(' and '), { kind: 'em', inner: [text('b')] }]],
    ['**a *b* c**', [{ kind: 'strong', inner: [text('a '), { kind: 'em', inner: [text('b')] }, text(' c')] }]],
    ['~~gone~~', [{ kind: 'del', inner: [text('gone')] }]],
    ['`x < y`', [{ kind: 'code', text: 'x < y' }]],
    ['``a`b``', [{ kind: 'code', text: 'a`b' }]],
    ['snake_case_name', [text('snake_case_name')]],
    ['2 * 3 * 4', [text('2 * 3 * 4')]],
    ['\\*not\\*', [text('*not*')]],
    ['open **still', [text('open **still')]],
    ['a  \nb', [text('a'), { kind: 'break' }, text('b')]],
    ['[w](https://a.example/x)', [{ kind: 'link', href: 'https://a.example/x', inner: [text('w')] }]],
    ['see https://a.example/b.', [text('see '), { kind: 'link', href: 'https://a.example/b', inner: [text('https://a.example/b')] }, text('.')]],
    ['[w](https://a.example/x_(y))', [{ kind: 'link', href: 'https://a.example/x_(y)', inner: [text('w')] }]],
  ];
  it.each(cases)('%j', (words, tree) => expect(inline(words)).toEqual(tree));
});

describe('blocks', () => {
  it('reads headings, rules, quotes and code', () => {
    expect(markdown('# One\n\ntwo\n***\n> three\n> four\n\n```rust\nfn x() {}\n```')).toEqual([
      { kind: 'heading', level: 1, inner: [text('One')] },
      paragraph('two'),
      { kind: 'rule' },
      { kind: 'quote', inner: [paragraph('three\nfour')] },
      { kind: 'code', language: 'rust', text: 'fn x() {}' },
    ]);
  });

  it('shows a fence that is not closed yet, as replies come in pieces', () => {
    expect(markdown('```js\nlet a')).toEqual([{ kind: 'code', language: 'js', text: 'let a' }]);
  });

  it('reads lists inside lists, numbers and tasks', () => {
    expect(markdown('- a\n  - b\n- [x] c')).toEqual([
      {
        kind: 'list',
        ordered: false,
        start: 1,
        items: [
          { checked: null, inner: [paragraph('a'), { kind: 'list', ordered: false, start: 1, items: [{ checked: null, inner: [paragraph('b')] }] }] },
          { checked: true, inner: [paragraph('c')] },
        ],
      },
    ]);
    const [numbered] = markdown('3. three\n4. four');
    expect(numbered).toMatchObject({ kind: 'list', ordered: true, start: 3 });
  });

  it('reads tables with their alignment, and short rows', () => {
    expect(markdown('| a | b |\n| --- | ---: |\n| 1 | 2 |\n| 3 |')).toEqual([
      { kind: 'table', align: [null, 'right'], head: [[text('a')], [text('b')]], rows: [[[text('1')], [text('2')]], [[text('3')], []]] },
    ]);
  });
});

describe('what is hostile', () => {
  it('keeps HTML as the text it is', () => {
    expect(markdown('<img src=x onerror=alert(1)>')).toEqual([paragraph('<img src=x onerror=alert(1)>')]);
    expect(markdown('<script>\nalert(1)\n</script>')).toEqual([paragraph('<script>\nalert(1)\n</script>')]);
  });

  it('follows links to the web and to mail only', () => {
    for (const bad of ['javascript:alert(1)', 'JaVaScRiPt:alert(1)', 'java\nscript:x', 'data:text/html,x', 'vbscript:x', '//evil.example', '/api/x', 'file:///etc/passwd', 'https://', 'blob:https://x/y', '\u202ehttps://x.example', 'https://a.example/\u0000']) {
      expect(address(bad), bad).toBeNull();
      expect(links(markdown(`[x](${bad})`)), bad).toEqual([]);
    }
    expect(address('https://a.example/b?c')).toBe('https://a.example/b?c');
    expect(address('mailto:a@b.example')).toBe('mailto:a@b.example');
  });

  it('makes links of pictures, so that nothing is fetched', () => {
    expect(markdown('![alt](https://a.example/p.png)')).toEqual([
      { kind: 'paragraph', inner: [{ kind: 'link', href: 'https://a.example/p.png', inner: [text('alt')] }] },
    ]);
  });

  it('comes to an end soon, whatever comes', { timeout: 120_000 }, () => {
    // What takes the square of its length would take hours.
    const many = 60_000;
    const texts = ['**'.repeat(many), '*a '.repeat(many), '['.repeat(many), '[a]('.repeat(many), '![a](b'.repeat(many), '`'.repeat(many), '`a``b```'.repeat(5_000), '> '.repeat(many), '- '.repeat(many), '|a'.repeat(many) + '\n' + '|-'.repeat(many), '_a_b'.repeat(many), '\\'.repeat(many), 'h'.repeat(many), '~~a'.repeat(many), 'https://'.repeat(many)];
    for (const one of texts) {
      expect(markdown(one).length, one.slice(0, 8)).toBeGreaterThan(0);
    }
  });

  it('shows what is too long as plain text, and loses nothing', () => {
    const long = 'word '.repeat(100_000);
    const read = markdown(long);
    const rest = read.at(-1);
    expect(rest).toMatchObject({ kind: 'code' });
    expect(rest?.kind === 'code' ? rest.text.length : 0).toBe(long.length - 200_000);
  });
});

describe('headings below those of the page', () => {
  const levels = (words: string, under: number) => [...outline(markdown(words), under).values()];
  it('begin one step below, whatever was written', () => {
    expect(levels('# One', 1)).toEqual([2]);
    expect(levels('#### Deep', 1)).toEqual([2]);
    expect(levels('# One', 3)).toEqual([4]);
  });
  it('never leave a step out on the way down', () => {
    expect(levels('# One\n\n### Three\n\n###### Six\n\n# One', 1)).toEqual([2, 3, 4, 2]);
    expect(levels('### Three\n\n# One\n\n## Two', 1)).toEqual([2, 2, 3]);
  });
  it('are found in quotes and lists too, and end at six', () => {
    expect(levels('> # One\n\n- ## Two', 1)).toEqual([2, 3]);
    expect(Math.max(...levels('# a\n\n## b\n\n### c\n\n#### d\n\n##### e\n\n###### f', 3))).toBe(6);
  });
});

describe('formulas', () => {
  it('stand in a line or alone', () => {
    expect(inline('so $x^2$ and \\(y\\).')).toEqual([text('so '), { kind: 'math', text: 'x^2' }, text(' and '), { kind: 'math', text: 'y' }, text('.')]);
    expect(markdown('Then\n\n$$\na = b\n$$\n\nend')).toEqual([paragraph('Then'), { kind: 'math', text: 'a = b' }, paragraph('end')]);
    expect(markdown('\\[ a \\]')).toEqual([{ kind: 'math', text: 'a' }]);
    expect(markdown('```math\nx\n```')).toEqual([{ kind: 'math', text: 'x' }]);
  });
  it('are told from amounts and variables', () => {
    for (const words of ['it costs $5 and $10', '$HOME and $PATH', 'a $ b $ c', 'US$5, US$6']) expect(inline(words)).toEqual([text(words)]);
  });
});
