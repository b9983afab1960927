import { type AST, parseRegExpLiteral } from '@eslint-community/regexpp';

type Element = AST.Element;

/** Between them they match or miss every class that an expression of ours may have. */
const PALETTE = [
  ...Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index)),
  ...['\t', '\n', '\r', '\0', 'é', 'ß', '\u0301', '\u4e2d', '\u2028', '\ud800'],
];
/** Quantifiers below it cost a constant factor and not another power of the length. */
const REPEATS_MIN = 30;
/** Follows the pump, so that an expression that expects its end or another character has to try again. */
const FAILING = ['\u0001', ' \u0001 \u0001"'];

/**
 * Texts of some `length` that are slow for an expression if any are: for each of its repetitions, the shortest text
 * that reaches it, then its pump over and over, then a failing ending. Each class of characters in the expression is
 * repeated once.
 */
export function attacksOn(regex: RegExp, length: number): string[] {
  const literal = parseRegExpLiteral(regex);
  const sample = new Sampler(regex.flags);
  const pairs = new Map<string, readonly [prefix: string, pump: string]>();
  const add = (prefix: string, pump: string) => {
    if (pump !== '') pairs.set(`${prefix}\0${pump}`, [prefix, pump]);
  };
  const singles = sample.charactersApart(literal.pattern);
  visit(literal.pattern.alternatives, '', sample, (quantifier, prefix) => {
    if (quantifier.max < REPEATS_MIN) return;
    const { element } = quantifier;
    const pumps = [
      ...singles.filter((character) => sample.matches(element, character)),
      ...sample.wordsOf(element),
    ];
    for (const pump of pumps) {
      add(prefix, pump);
      // If the expression may begin anywhere, each of these is another beginning.
      add('', prefix + pump);
      add('', pump + prefix);
    }
  });
  return [...pairs.values()].flatMap(([prefix, pump]) =>
    FAILING.map((end) => prefix + pump.repeat(Math.ceil(length / pump.length)) + end),
  );
}

/** Calls `found` with each quantifier and the shortest text before it. */
function visit(
  alternatives: readonly AST.Alternative[],
  before: string,
  sample: Sampler,
  found: (quantifier: AST.Quantifier, prefix: string) => void,
): void {
  for (const { elements } of alternatives) {
    let prefix = before;
    for (const element of elements) {
      const inner = element.type === 'Quantifier' ? element.element : element;
      if (element.type === 'Quantifier') found(element, prefix);
      if ('alternatives' in inner) visit(inner.alternatives as AST.Alternative[], prefix, sample, found);
      prefix += sample.wordOf(element);
    }
  }
}

/** Finds texts that parts of an expression match. */
class Sampler {
  readonly #flags: string;
  readonly #characters = new Map<string, string>();

  constructor(flags: string) {
    this.#flags = flags.replace(/[gy]/g, '');
  }

  /** One character for each set of the palette that no part of the expression distinguishes. */
  charactersApart(pattern: AST.Pattern): string[] {
    const parts = charactersIn(pattern);
    const bySignature = new Map<string, string>();
    for (const character of PALETTE) {
      const signature = parts.map((part) => Number(this.matches(part, character))).join('');
      if (!bySignature.has(signature)) bySignature.set(signature, character);
    }
    return [...bySignature.values()];
  }

  matches(element: Element, text: string): boolean {
    return this.#expression(element.raw).test(text);
  }

  /** The shortest text that an element matches, assertions left aside. */
  wordOf(element: Element): string {
    switch (element.type) {
      case 'Quantifier':
        return this.wordOf(element.element).repeat(element.min);
      case 'Group':
      case 'CapturingGroup':
        return this.#alternatives(element, false)[0] ?? '';
      case 'Character':
        return String.fromCodePoint(element.value);
      case 'CharacterClass':
      case 'CharacterSet':
      case 'ExpressionCharacterClass':
        return this.#characterOf(element);
      default:
        return '';
    }
  }

  /** Texts that an element matches: one for each alternative, with and without the optional parts. */
  wordsOf(element: Element): string[] {
    if (element.type !== 'Group' && element.type !== 'CapturingGroup') return [this.wordOf(element)];
    return [...this.#alternatives(element, false), ...this.#alternatives(element, true)];
  }

  #alternatives({ alternatives }: AST.Group | AST.CapturingGroup, isFull: boolean): string[] {
    return alternatives
      .map(({ elements }) =>
        elements
          .map((one) => (isFull && one.type === 'Quantifier' ? this.wordOf(one.element) : this.wordOf(one)))
          .join(''),
      )
      .sort((one, other) => one.length - other.length);
  }

  #characterOf(element: Element): string {
    const known = this.#characters.get(element.raw);
    if (known !== undefined) return known;
    const found = PALETTE.find((character) => this.matches(element, character)) ?? '';
    this.#characters.set(element.raw, found);
    return found;
  }

  #expressions = new Map<string, RegExp>();
  #expression(raw: string): RegExp {
    const known = this.#expressions.get(raw) ?? new RegExp(`^(?:${raw})$`, this.#flags);
    this.#expressions.set(raw, known);
    return known;
  }
}

/** Every part of an expression that matches one character. */
function charactersIn(node: AST.Pattern | AST.Alternative | Element): Element[] {
  switch (node.type) {
    case 'Character':
    case 'CharacterClass':
    case 'CharacterSet':
    case 'ExpressionCharacterClass':
      return [node];
    case 'Quantifier':
      return charactersIn(node.element);
    case 'Alternative':
      return node.elements.flatMap(charactersIn);
    case 'Pattern':
    case 'Group':
    case 'CapturingGroup':
      return node.alternatives.flatMap(charactersIn);
    case 'Assertion':
      return 'alternatives' in node ? node.alternatives.flatMap(charactersIn) : [];
    default:
      return [];
  }
}
