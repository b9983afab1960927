/** Numbers for texts, in order of first use. The empty text is 0. */
export class TextCodes {
  readonly #codes = new Map<string, number>([['', 0]]);
  readonly #texts: string[] = [''];

  get size(): number {
    return this.#texts.length;
  }

  codeOf(text: string): number {
    const known = this.#codes.get(text);
    if (known !== undefined) return known;
    const code = this.#texts.length;
    this.#codes.set(text, code);
    this.#texts.push(text);
    return code;
  }

  /** The number of a text; undefined if it has none. */
  find(text: string): number | undefined {
    return this.#codes.get(text);
  }

  textOf(code: number): string {
    return this.#texts[code] ?? '';
  }
}

/** Numbers for pairs of words, in order of first use. */
export class PairCodes {
  /** By first word, then by second. As one number, a pair would exceed the integers that a map holds without an object each. */
  readonly #codes = new Map<number, Map<number, number>>();
  readonly #firsts: number[] = [];
  readonly #seconds: number[] = [];

  get size(): number {
    return this.#firsts.length;
  }

  codeOf(first: number, second: number): number {
    let codes = this.#codes.get(first);
    if (codes === undefined) {
      codes = new Map();
      this.#codes.set(first, codes);
    }
    const known = codes.get(second);
    if (known !== undefined) return known;
    const code = this.#firsts.length;
    codes.set(second, code);
    this.#firsts.push(first);
    this.#seconds.push(second);
    return code;
  }

  /** The number of a pair; undefined if it has none. */
  find(first: number, second: number): number | undefined {
    return this.#codes.get(first)?.get(second);
  }

  firstOf(code: number): number {
    return this.#firsts[code] ?? 0;
  }

  secondOf(code: number): number {
    return this.#seconds[code] ?? 0;
  }
}

/** The dictionaries of a site. Devices and profiles share one, because equal texts are one visitor. */
export interface SiteTexts {
  readonly visitors: TextCodes;
  readonly words: TextCodes;
  /** Pairs of origin and path. */
  readonly pages: PairCodes;
}
