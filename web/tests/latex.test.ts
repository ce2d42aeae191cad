import { describe, expect, it } from 'vitest';
import { latex, type MathNode } from '../src/lib/latex';

/** A tree as text: `msup(mi x,mn 2)`. */
const brief = (node: MathNode): string => (node.text !== undefined ? `${node.tag} ${node.text}` : `${node.tag}(${(node.children ?? []).map(brief).join(',')})`);
const read = (source: string, display = false) => (latex(source, display) ?? []).map(brief).join(' ');

describe('a formula', () => {
  const cases: [string, string][] = [
    ['x^2', 'msup(mi x,mn 2)'],
    ['a_{i+1}^n', 'msubsup(mi a,mrow(mi i,mo +,mn 1),mi n)'],
    ['\\frac{1}{\\sqrt{2\\pi}}', 'mfrac(mn 1,msqrt(mrow(mn 2,mi π)))'],
    ['\\sqrt[3]{x}', 'mroot(mi x,mn 3)'],
    ["f'(x)", 'msup(mi f,mo ′) mo ( mi x mo )'],
    ['\\left( a \\right)', 'mrow(mo (,mi a,mo ))'],
    ['\\mathbb{R}^n', 'msup(mi ℝ,mi n)'],
    ['\\alpha \\le \\beta', 'mi α mo ≤ mi β'],
    ['\\text{if } x', 'mtext if  mi x'],
    ['\\hat{x}', 'mover(mi x,mo ^)'],
    ['\\begin{pmatrix} 1 & 2 \\\\ 3 & 4 \\end{pmatrix}', 'mrow(mo (,mtable(mtr(mtd(mn 1),mtd(mn 2)),mtr(mtd(mn 3),mtd(mn 4))),mo ))'],
    ['\\unknown', 'mtext \\unknown'],
    ['50\\%', 'mn 50 mo %'],
  ];
  it.each(cases)('%s', (source, tree) => expect(read(source)).toBe(tree));
  it('has its limits below and above where it stands alone', () => {
    expect(read('\\sum_{i=1}^n i', true)).toMatch(/^munderover\(/);
    expect(read('\\sum_{i=1}^n i')).toMatch(/^msubsup\(/);
  });
  it('never fails or hangs, whatever is written', () => {
    for (const source of ['{', '}', '^', '_', '\\', '\\frac', '\\left', '\\right)', '\\begin{pmatrix}', '\\end{x}', '&&', '\\\\', '{'.repeat(3_000), '\\frac'.repeat(800), 'x^'.repeat(1_000), '\\begin{cases}'.repeat(100)]) expect(() => latex(source, true)).not.toThrow();
    expect(latex('x'.repeat(5_000), true), 'what is too long stays its source').toBeNull();
  });
});
