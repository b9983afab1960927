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
