/** A lone surrogate or a NUL: the store cannot hold the one, and few readers handle the other. */
const BROKEN_TEXT = /[\0\p{Cs}]/u;

/** Checks single values and keeps the first problem. */
export class TextRules {
  readonly #mayBeBroken: boolean;
  problem = '';

  constructor(mayBeBroken: boolean) {
    this.#mayBeBroken = mayBeBroken;
  }

  /** Records a problem; only the first one counts. */
  fail(where: string, expected: string): void {
    if (this.problem === '') this.problem = `${where}: ${expected}`;
  }

  isWhole(text: string): boolean {
    return !this.#mayBeBroken || !BROKEN_TEXT.test(text);
  }

  /** Text of at most `max` characters; absent and null become the empty text. */
  optional(value: unknown, where: string, max: number): string {
    if (value === undefined || value === null) return '';
    if (typeof value !== 'string') this.fail(where, 'expected a string');
    else if (value.length > max) this.fail(where, `expected at most ${max} characters`);
    else if (!this.isWhole(value)) this.fail(where, 'expected text without NUL or lone surrogates');
    else return value;
    return '';
  }

  /** Like `optional`, but not empty when given. */
  optionalId(value: unknown, where: string, max: number): string {
    if (value === '') this.fail(where, `expected 1 to ${max} characters`);
    return this.optional(value, where, max);
  }

  /** Required text of 1 to `max` characters. */
  required(value: unknown, where: string, max: number): string {
    if (typeof value !== 'string' || value === '')
      this.fail(where, `expected a non-empty string of at most ${max} characters`);
    return this.optional(value, where, max);
  }

  /** Text, or a number as text; absent and null become the empty text. */
  optionalIdentity(value: unknown, where: string, max: number): string {
    if (typeof value === 'number') {
      if (!Number.isFinite(value)) this.fail(where, 'expected a finite number');
      return String(value);
    }
    if (value !== undefined && value !== null && typeof value !== 'string')
      this.fail(where, 'expected a string or a number');
    return this.optional(value, where, max);
  }

  /** Like `optionalIdentity`, but required and not empty. */
  identity(value: unknown, where: string, max: number): string {
    if (value === undefined || value === null) this.fail(where, 'expected a string or a number');
    if (value === '') this.fail(where, `expected 1 to ${max} characters`);
    return this.optionalIdentity(value, where, max);
  }
}

/** A JSON object: neither null nor an array. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
