/** Half a surrogate pair or a NUL: the store cannot hold the one, and few readers the other. */
const BROKEN_TEXT = /[\0\p{Cs}]/u;

/** The rules of single values, and the first problem that was found with them. */
export class TextRules {
  readonly #mayBeBroken: boolean;
  problem = '';

  constructor(mayBeBroken: boolean) {
    this.#mayBeBroken = mayBeBroken;
  }

  /** Keeps the first problem. */
  fail(where: string, expected: string): void {
    if (this.problem === '') this.problem = `${where}: ${expected}`;
  }

  isWhole(text: string): boolean {
    return !this.#mayBeBroken || !BROKEN_TEXT.test(text);
  }

  /** A text of at most `max` characters; absent and null are the empty text. */
  optional(value: unknown, where: string, max: number): string {
    if (value === undefined || value === null) return '';
    if (typeof value !== 'string') this.fail(where, 'expected a string');
    else if (value.length > max) this.fail(where, `expected at most ${max} characters`);
    else if (!this.isWhole(value)) this.fail(where, 'expected text without NUL and lone surrogates');
    else return value;
    return '';
  }

  /** The same, and when it is there it has at least one character. */
  optionalId(value: unknown, where: string, max: number): string {
    if (value === '') this.fail(where, `expected 1 to ${max} characters`);
    return this.optional(value, where, max);
  }

  /** A text that must be there and has 1 to `max` characters. */
  required(value: unknown, where: string, max: number): string {
    if (typeof value !== 'string' || value === '')
      this.fail(where, `expected a non-empty string of at most ${max} characters`);
    return this.optional(value, where, max);
  }

  /** A text or a number, which becomes text; absent and null are the empty text. */
  optionalIdentity(value: unknown, where: string, max: number): string {
    if (typeof value === 'number') {
      if (!Number.isFinite(value)) this.fail(where, 'expected a finite number');
      return String(value);
    }
    if (value !== undefined && value !== null && typeof value !== 'string')
      this.fail(where, 'expected a string or a number');
    return this.optional(value, where, max);
  }

  /** The same, and it must be there, with at least one character. */
  identity(value: unknown, where: string, max: number): string {
    if (value === undefined || value === null) this.fail(where, 'expected a string or a number');
    if (value === '') this.fail(where, `expected 1 to ${max} characters`);
    return this.optionalIdentity(value, where, max);
  }
}

/** An object of JSON that is neither null nor an array. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
