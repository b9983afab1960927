/** Texts by numbers, in the order in which they came. The empty text is 0. */
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

  /** The number of a text; undefined when it never came. */
  find(text: string): number | undefined {
    return this.#codes.get(text);
  }

  textOf(code: number): string {
    return this.#texts[code] ?? '';
  }
}

/** No dictionary has as many words. */
const WORD_FACTOR = 2 ** 26;

/** Pairs of words by numbers, in the order in which they came. */
export class PairCodes {
  readonly #codes = new Map<number, number>();
  readonly #firsts: number[] = [];
  readonly #seconds: number[] = [];

  get size(): number {
    return this.#firsts.length;
  }

  codeOf(first: number, second: number): number {
    const pair = first * WORD_FACTOR + second;
    const known = this.#codes.get(pair);
    if (known !== undefined) return known;
    const code = this.#firsts.length;
    this.#codes.set(pair, code);
    this.#firsts.push(first);
    this.#seconds.push(second);
    return code;
  }

  /** The number of a pair; undefined when it never came. */
  find(first: number, second: number): number | undefined {
    return this.#codes.get(first * WORD_FACTOR + second);
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
  /** Pages: the words of origin and path. */
  readonly pages: PairCodes;
}
