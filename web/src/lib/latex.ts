// The part of LaTeX's mathematics that models write, as a tree of MathML elements. Plain data: a component makes
// elements of it. What is not known is shown as it was written.

export type MathNode = { tag: string; text?: string; attributes?: Record<string, string>; children?: MathNode[] };

/** Longer formulas are shown as their source. */
const LONGEST = 4_000;
const DEEPEST = 40;

const words = (text: string): Record<string, string> => Object.fromEntries(text.trim().split(/\s+/).map((pair) => pair.split('=') as [string, string]));

/** Identifiers: letters of other alphabets and named constants. */
const LETTERS = words(`alpha=α beta=β gamma=γ delta=δ epsilon=ϵ varepsilon=ε zeta=ζ eta=η theta=θ vartheta=ϑ iota=ι kappa=κ lambda=λ mu=μ nu=ν xi=ξ pi=π varpi=ϖ
 rho=ρ varrho=ϱ sigma=σ varsigma=ς tau=τ upsilon=υ phi=ϕ varphi=φ chi=χ psi=ψ omega=ω Gamma=Γ Delta=Δ Theta=Θ Lambda=Λ Xi=Ξ Pi=Π Sigma=Σ Upsilon=Υ Phi=Φ Psi=Ψ
 Omega=Ω infty=∞ partial=∂ nabla=∇ hbar=ℏ ell=ℓ Re=ℜ Im=ℑ aleph=ℵ emptyset=∅ varnothing=∅ imath=ı jmath=ȷ wp=℘ dots=… ldots=… cdots=⋯ vdots=⋮ ddots=⋱ degree=° top=⊤ bot=⊥ angle=∠ triangle=△ square=□ blacksquare=■`);
const OPERATORS = words(`times=× cdot=⋅ div=÷ pm=± mp=∓ ast=∗ star=⋆ circ=∘ bullet=∙ oplus=⊕ otimes=⊗ ominus=⊖ cup=∪ cap=∩ setminus=∖ wedge=∧ land=∧ vee=∨ lor=∨ neg=¬ lnot=¬
 le=≤ leq=≤ ge=≥ geq=≥ ne=≠ neq=≠ equiv=≡ approx=≈ sim=∼ simeq=≃ cong=≅ propto=∝ ll=≪ gg=≫ prec=≺ succ=≻ in=∈ notin=∉ ni=∋ subset=⊂ subseteq=⊆ supset=⊃ supseteq=⊇ forall=∀ exists=∃ nexists=∄
 to=→ rightarrow=→ leftarrow=← gets=← leftrightarrow=↔ Rightarrow=⇒ implies=⟹ Leftarrow=⇐ Leftrightarrow=⇔ iff=⟺ mapsto=↦ longrightarrow=⟶ uparrow=↑ downarrow=↓ hookrightarrow=↪ rightleftharpoons=⇌
 perp=⟂ parallel=∥ mid=∣ nmid=∤ models=⊨ vdash=⊢ therefore=∴ because=∵ colon=: lvert=| rvert=| vert=| Vert=‖ lVert=‖ rVert=‖ lbrace={ rbrace=} langle=⟨ rangle=⟩ lfloor=⌊ rfloor=⌋ lceil=⌈ rceil=⌉ prime=′ backslash=\\`);
/** Operators with limits below and above them in a formula of its own. */
const LARGE = words('sum=∑ prod=∏ coprod=∐ bigcup=⋃ bigcap=⋂ bigoplus=⨁ bigotimes=⨂ bigvee=⋁ bigwedge=⋀');
const INTEGRALS = words('int=∫ iint=∬ iiint=∭ oint=∮');
const FUNCTIONS = new Set('sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh coth log ln lg exp det dim ker deg gcd hom arg Pr'.split(' '));
const LIMITS = new Set('lim limsup liminf max min sup inf argmax argmin'.split(' '));
const ACCENTS = words('hat=^ widehat=^ bar=¯ overline=¯ vec=→ overrightarrow=→ dot=˙ ddot=¨ tilde=~ widetilde=~ check=ˇ breve=˘');
const SPACES: Record<string, string> = { ',': '0.17em', ':': '0.22em', ';': '0.28em', ' ': '0.25em', quad: '1em', qquad: '2em', '!': '0', thinspace: '0.17em', enspace: '0.5em' };
const FENCES: Record<string, [string, string]> = { pmatrix: ['(', ')'], bmatrix: ['[', ']'], Bmatrix: ['{', '}'], vmatrix: ['|', '|'], Vmatrix: ['‖', '‖'], cases: ['{', ''], matrix: ['', ''], smallmatrix: ['', ''] };
const ALIGNED = new Set(['aligned', 'align', 'align*', 'gathered', 'gather', 'gather*', 'split', 'array', 'equation', 'equation*', 'eqnarray']);
/** Where the plain letters of these alphabets begin; the exceptions are older characters. */
const ALPHABETS: Record<string, { upper: number; lower?: number; digit?: number; except?: Record<string, string> }> = {
  mathbb: { upper: 0x1d538, lower: 0x1d552, digit: 0x1d7d8, except: words('C=ℂ H=ℍ N=ℕ P=ℙ Q=ℚ R=ℝ Z=ℤ') },
  mathcal: { upper: 0x1d49c, lower: 0x1d4b6, except: words('B=ℬ E=ℰ F=ℱ H=ℋ I=ℐ L=ℒ M=ℳ R=ℛ e=ℯ g=ℊ o=ℴ') },
  mathfrak: { upper: 0x1d504, lower: 0x1d51e, except: words('C=ℭ H=ℌ I=ℑ R=ℜ Z=ℨ') },
  mathbf: { upper: 0x1d400, lower: 0x1d41a, digit: 0x1d7ce },
  mathsf: { upper: 0x1d5a0, lower: 0x1d5ba, digit: 0x1d7e2 },
  mathtt: { upper: 0x1d670, lower: 0x1d68a, digit: 0x1d7f6 },
};
ALPHABETS.mathscr = ALPHABETS.mathcal as (typeof ALPHABETS)[string];
ALPHABETS.boldsymbol = ALPHABETS.bm = ALPHABETS.mathbf as (typeof ALPHABETS)[string];

const mi = (text: string): MathNode => ({ tag: 'mi', text });
const mo = (text: string, attributes?: Record<string, string>): MathNode => ({ tag: 'mo', text, ...(attributes ? { attributes } : {}) });
const row = (children: MathNode[]): MathNode => (children.length === 1 && children[0] ? children[0] : { tag: 'mrow', children });
const upright = (text: string): MathNode => ({ tag: 'mi', text, attributes: { mathvariant: 'normal' } });
const space = (width: string): MathNode => ({ tag: 'mspace', attributes: { width } });

class Reader {
  at = 0;
  readonly tokens: string[];
  constructor(
    source: string,
    readonly display: boolean,
  ) {
    this.tokens = source.match(/\\(?:[A-Za-z]+\*?|[^A-Za-z])|\s+|\d+(?:[.,]\d+)*|[^\\]/gu) ?? [];
  }

  peek(): string {
    while (/^\s+$/.test(this.tokens[this.at] ?? '')) this.at += 1;
    return this.tokens[this.at] ?? '';
  }
  take(): string {
    const token = this.peek();
    this.at += 1;
    return token;
  }
  get done(): boolean {
    return this.peek() === '';
  }

  /** What stands in braces, as it is written. */
  raw(): string {
    if (this.peek() !== '{') return this.take();
    this.at += 1;
    let text = '';
    for (let depth = 1; this.at < this.tokens.length; this.at += 1) {
      const token = this.tokens[this.at] ?? '';
      if (token === '{') depth += 1;
      if (token === '}' && (depth -= 1) === 0) {
        this.at += 1;
        break;
      }
      text += token;
    }
    return text;
  }

  /** What stands in brackets, if anything does. */
  optional(depth: number): MathNode | null {
    if (this.peek() !== '[') return null;
    this.at += 1;
    const inner = this.until((token) => token === ']', depth);
    this.take();
    return row(inner);
  }

  argument(depth: number): MathNode {
    if (this.peek() !== '{') return this.atom(depth) ?? row([]);
    this.at += 1;
    const inner = this.until((token) => token === '}', depth);
    this.take();
    return row(inner);
  }

  until(ends: (token: string) => boolean, depth: number): MathNode[] {
    const found: MathNode[] = [];
    while (!this.done && !ends(this.peek())) {
      const before = this.at;
      const one = this.scripted(depth + 1);
      if (one) found.push(one);
      if (this.at === before) this.at += 1;
    }
    return found;
  }

  /** An atom with what stands below and above it. */
  scripted(depth: number): MathNode | null {
    const base = this.atom(depth);
    let [below, above]: (MathNode | null)[] = [null, null];
    let primes = '';
    let stacked = base?.attributes?.['data-limits'] === 'yes';
    if (base?.attributes?.['data-limits']) delete base.attributes['data-limits'];
    for (;;) {
      const token = this.peek();
      if (token === '_' && !below) {
        this.at += 1;
        below = this.argument(depth);
      } else if (token === '^' && !above) {
        this.at += 1;
        above = this.argument(depth);
      } else if (token === "'") {
        this.at += 1;
        primes += '′';
      } else if (token === '\\limits' || token === '\\nolimits') {
        this.at += 1;
        stacked = token === '\\limits';
      } else break;
    }
    if (primes) above = above ? row([mo(primes), above]) : mo(primes);
    if (!below && !above) return base;
    const children = [base ?? row([]), ...(below ? [below] : []), ...(above ? [above] : [])];
    const tag = below && above ? (stacked ? 'munderover' : 'msubsup') : below ? (stacked ? 'munder' : 'msub') : stacked ? 'mover' : 'msup';
    return { tag, children };
  }

  atom(depth: number): MathNode | null {
    if (depth > DEEPEST) return mi(this.take());
    const token = this.take();
    if (token === '{') {
      this.at -= 1;
      return this.argument(depth);
    }
    if (token === '^' || token === '_') {
      this.at -= 1;
      return null;
    }
    if (/^\d/.test(token)) return { tag: 'mn', text: token };
    if (/^\p{L}$/u.test(token)) return mi(token);
    if (token === '~') return space('0.25em');
    if (token === '-') return mo('−');
    if (!token.startsWith('\\')) return token === '&' || token === '}' ? null : mo(token, /^[()[\]|/]$/.test(token) ? { stretchy: 'false' } : undefined);
    return this.command(token.slice(1), depth);
  }

  command(name: string, depth: number): MathNode | null {
    const letter = LETTERS[name];
    if (letter) return mi(letter);
    const operator = OPERATORS[name];
    if (operator) return mo(operator);
    const large = LARGE[name];
    if (large) return mo(large, { movablelimits: 'false', largeop: 'true', ...(this.display ? { 'data-limits': 'yes' } : {}) });
    const integral = INTEGRALS[name];
    if (integral) return mo(integral, { largeop: 'true' });
    if (FUNCTIONS.has(name)) return upright(name);
    if (LIMITS.has(name)) return { ...upright(name), attributes: { mathvariant: 'normal', ...(this.display ? { 'data-limits': 'yes' } : {}) } };
    const width = SPACES[name];
    if (width) return space(width);
    const accent = ACCENTS[name];
    if (accent) return { tag: 'mover', attributes: { accent: 'true' }, children: [this.argument(depth), mo(accent, { stretchy: name.startsWith('wide') || name.startsWith('over') ? 'true' : 'false' })] };
    const alphabet = ALPHABETS[name];
    if (alphabet) return this.lettered(alphabet, depth);
    switch (name) {
      case 'frac':
      case 'dfrac':
      case 'tfrac':
      case 'cfrac':
        return { tag: 'mfrac', children: [this.argument(depth), this.argument(depth)] };
      case 'binom':
      case 'dbinom':
        return row([mo('('), { tag: 'mfrac', attributes: { linethickness: '0' }, children: [this.argument(depth), this.argument(depth)] }, mo(')')]);
      case 'sqrt': {
        const index = this.optional(depth);
        const inside = this.argument(depth);
        return index ? { tag: 'mroot', children: [inside, index] } : { tag: 'msqrt', children: [inside] };
      }
      case 'text':
      case 'textrm':
      case 'textbf':
      case 'textit':
      case 'mbox':
        return { tag: 'mtext', text: this.raw() };
      case 'mathrm':
      case 'operatorname':
      case 'operatorname*':
        return upright(this.raw());
      case 'mathit':
      case 'displaystyle':
      case 'textstyle':
      case 'scriptstyle':
        return name === 'mathit' ? this.argument(depth) : null;
      case 'underline':
        return { tag: 'munder', children: [this.argument(depth), mo('_')] };
      case 'overbrace':
      case 'underbrace': {
        const inside = this.argument(depth);
        const braced: MathNode = { tag: name === 'overbrace' ? 'mover' : 'munder', attributes: { 'data-limits': 'yes' }, children: [inside, mo(name === 'overbrace' ? '⏞' : '⏟')] };
        return braced;
      }
      case 'overset':
      case 'stackrel': {
        const above = this.argument(depth);
        return { tag: 'mover', children: [this.argument(depth), above] };
      }
      case 'underset': {
        const below = this.argument(depth);
        return { tag: 'munder', children: [this.argument(depth), below] };
      }
      case 'boxed':
        return { tag: 'mrow', attributes: { class: 'boxed' }, children: [this.argument(depth)] };
      case 'not':
        return mo(`${this.atom(depth)?.text ?? ''}\u0338`);
      case 'bmod':
      case 'pmod': {
        if (name === 'bmod') return mo('mod');
        return row([space('1em'), mo('('), upright('mod'), space('0.3em'), this.argument(depth), mo(')')]);
      }
      case 'left':
        return this.fenced(depth);
      case 'middle':
        return mo(this.delimiter(), { stretchy: 'true' });
      case 'big':
      case 'Big':
      case 'bigg':
      case 'Bigg':
      case 'bigl':
      case 'bigr':
      case 'Bigl':
      case 'Bigr':
      case 'biggl':
      case 'biggr':
      case 'right':
        return mo(this.delimiter());
      case 'begin':
        return this.environment(depth);
      case 'end':
      case 'label':
      case 'tag':
        this.raw();
        return null;
      case 'color':
      case 'textcolor':
        this.raw();
        return name === 'color' ? null : this.argument(depth);
      case '|':
        return mo('‖');
      case '\\':
        return null;
      default:
        // An escaped sign is that sign; an unknown command is shown as it was written.
        return /^[^A-Za-z]$/.test(name) ? mo(name) : { tag: 'mtext', text: `\\${name}` };
    }
  }

  lettered(alphabet: (typeof ALPHABETS)[string], depth: number): MathNode {
    const text = this.peek() === '{' ? this.raw() : this.take();
    if (text.startsWith('\\')) return new Reader(text, this.display).command(text.slice(1), depth) ?? mi(text);
    const put = (letter: string): string => {
      const known = alphabet.except?.[letter];
      if (known) return known;
      const code = letter.codePointAt(0) ?? 0;
      if (/^[A-Z]$/.test(letter)) return String.fromCodePoint(alphabet.upper + code - 65);
      if (/^[a-z]$/.test(letter) && alphabet.lower) return String.fromCodePoint(alphabet.lower + code - 97);
      if (/^\d$/.test(letter) && alphabet.digit) return String.fromCodePoint(alphabet.digit + code - 48);
      return letter;
    };
    return upright([...text].map(put).join(''));
  }

  delimiter(): string {
    const token = this.take();
    if (token === '.') return '';
    if (!token.startsWith('\\')) return token;
    const name = token.slice(1);
    return OPERATORS[name] ?? (name === '|' ? '‖' : name);
  }

  fenced(depth: number): MathNode {
    const open = this.delimiter();
    const inner = this.until((token) => token === '\\right', depth);
    if (!this.done) this.take();
    const close = this.delimiter();
    return { tag: 'mrow', children: [mo(open, { stretchy: 'true', fence: 'true' }), ...inner, mo(close, { stretchy: 'true', fence: 'true' })] };
  }

  environment(depth: number): MathNode {
    const name = this.raw();
    if (name === 'array') {
      this.optional(depth);
      this.raw();
    }
    if (!FENCES[name] && !ALIGNED.has(name)) return { tag: 'mtext', text: `\\begin{${name}}` };
    const rows: MathNode[][] = [[]];
    while (!this.done && this.peek() !== '\\end') {
      const cell = this.until((token) => token === '&' || token === '\\\\' || token === '\\end', depth);
      rows.at(-1)?.push({ tag: 'mtd', children: [row(cell)] });
      if (this.peek() === '&') this.at += 1;
      else if (this.peek() === '\\\\') {
        this.at += 1;
        rows.push([]);
      }
    }
    this.take();
    this.raw();
    const table: MathNode = { tag: 'mtable', attributes: { class: ALIGNED.has(name) && name !== 'array' ? 'aligned' : name === 'cases' ? 'cases' : 'matrix' }, children: rows.filter((one) => one.length).map((children) => ({ tag: 'mtr', children })) };
    const [open, close] = FENCES[name] ?? ['', ''];
    if (!open && !close) return table;
    return { tag: 'mrow', children: [mo(open, { stretchy: 'true', fence: 'true' }), table, ...(close ? [mo(close, { stretchy: 'true', fence: 'true' })] : [])] };
  }
}

function settled(node: MathNode): MathNode {
  if (node.attributes?.['data-limits']) delete node.attributes['data-limits'];
  node.children?.forEach(settled);
  return node;
}

/** A formula as MathML, or null where it is better shown as its source. */
export function latex(source: string, display: boolean): MathNode[] | null {
  if (source.length > LONGEST) return null;
  const reader = new Reader(source, display);
  const rows: MathNode[][] = [[]];
  while (!reader.done) {
    rows.at(-1)?.push(...reader.until((token) => token === '\\\\', 0));
    if (reader.peek() === '\\\\') {
      reader.at += 1;
      rows.push([]);
    }
  }
  const lines = rows.filter((one) => one.length).map((children) => children.map(settled));
  if (lines.length <= 1) return lines[0] ?? [];
  return [{ tag: 'mtable', children: lines.map((children) => ({ tag: 'mtr', children: [{ tag: 'mtd', children }] })) }];
}
