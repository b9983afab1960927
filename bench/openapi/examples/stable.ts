import { createHash } from 'node:crypto';

/** A text that belongs to a run, and the one that the documentation shows instead. */
export type Replacement = readonly [real: string, shown: string];

const UUID = '[\\da-f]{8}-[\\da-f]{4}-4[\\da-f]{3}-[89ab][\\da-f]{3}-[\\da-f]{12}';
/** The forms of ids, secrets and tokens; a longer one comes before what it may contain. */
const RANDOM: readonly (readonly [form: string, shown: (random: string, real: string) => string])[] = [
  ['sec_[\\da-f]{40}', () => `sec_${'0123456789abcdef0123'.repeat(2)}`],
  ['(?:[\\w-]{20,}\\.)[\\w-]{43}(?![\\w-])', (random) => `${lettersOf(random, 96)}.${lettersOf(random, 43)}`],
  [
    '(?<![\\w-])[\\da-f]{32}[\\w-]{43}(?![\\w-])',
    (random) => `${random.slice(0, 32)}${lettersOf(random, 43)}`,
  ],
  ['(?<![\\w-])[\\da-f]{64}(?![\\w-])', (random) => random],
  ['(?<![\\w-])[\\w-]{43}(?![\\w-])', (random) => lettersOf(random, 43)],
  [`(?<![\\w-])${UUID}(?![\\w-])`, uuidOf],
  ['(?<![A-Za-z\\d-])[\\da-f]{32}(?![A-Za-z\\d-])', (random) => random.slice(0, 32)],
  ['(?<=main-)[A-Z\\d]{8}(?=\\.js)', () => 'ABCD2345'],
];
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z/g;
/** Longer than a run. */
const STEP_MS = 600_000;
/** Measured numbers, by the names of their fields. */
const MEASURED: Readonly<Record<string, number>> = {
  ms: 20,
  lagSeconds: 2,
  attempts: 1,
  messages: 12,
  usedShare: 0.001,
  freeBytes: 64_000_000_000,
  remainingSeconds: 86_400,
};
/** The same, which stay zero. */
const COUNTED: Readonly<Record<string, number>> = { bytes: 4_096, files: 2, sequence: 2 };
/** The store removes every version of a row, and a flush makes a version. */
const COUNTING_VERSIONS = 'rowsRemoved';
const ROWS_REMOVED = 20;
const ROWS_MAX = 3;
const LARGE_ROWS_MAX = 2;
const LARGE_FIELDS = 12;
/** A list with one row more than its limit is not cut for that. */
const ROWS_OVER = 1;

/**
 * Makes answers of the service the same in each run: ids, secrets and tokens are replaced by made-up ones, times since the start of the
 * run are rounded down, measured numbers are fixed, and long lists are cut.
 */
export class StableAnswers {
  readonly #startMs: number;
  readonly #replacements: readonly Replacement[];
  readonly #shown = new Map<string, string>();
  #place = '';
  #random = 0;
  #rowsMax = Number.POSITIVE_INFINITY;

  /** @param startMs the time of day of the service at its start */
  constructor(startMs: number, replacements: readonly Replacement[]) {
    this.#startMs = startMs;
    this.#replacements = replacements;
  }

  /**
   * `place` names the request: the ids in its answer do not depend on other requests.
   * @param rowsMax a smaller limit than the usual ones
   */
  json(value: unknown, place: string, rowsMax = Number.POSITIVE_INFINITY): unknown {
    if (place !== this.#place) this.#random = 0;
    this.#place = place;
    this.#rowsMax = rowsMax;
    return this.#stable(value);
  }

  #stable(value: unknown): unknown {
    if (typeof value === 'string') return this.#stableText(value);
    if (Array.isArray(value)) return shortened(value, this.#rowsMax).map((one) => this.#stable(one));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [name, this.#stableField(name, inner)]),
    );
  }

  #stableField(name: string, value: unknown): unknown {
    if (typeof value === 'number') return MEASURED[name] ?? (value === 0 ? 0 : (COUNTED[name] ?? value));
    if (name !== COUNTING_VERSIONS) return this.#stable(value);
    return Object.fromEntries(Object.keys(Object(value)).map((table) => [table, ROWS_REMOVED]));
  }

  #stableText(text: string): string {
    let stable = text;
    for (const [real, shown] of this.#replacements) stable = stable.replaceAll(real, shown);
    for (const [form, shown] of RANDOM)
      stable = stable.replace(new RegExp(form, 'g'), (real) => this.#known(real, shown));
    return stable.replace(TIME, (time) => {
      const atMs = Date.parse(time);
      return atMs < this.#startMs ? time : new Date(Math.floor(atMs / STEP_MS) * STEP_MS).toISOString();
    });
  }

  #known(real: string, shown: (random: string, real: string) => string): string {
    const known = this.#shown.get(real);
    if (known !== undefined) return known;
    this.#random += 1;
    const random = createHash('sha256').update(`${this.#place} ${this.#random}`).digest('hex');
    const made = shown(random, real);
    // A text that was replaced already, as in a request that repeats it, stays.
    this.#shown.set(real, made).set(made, made);
    return made;
  }
}

/** The first rows of a long list, from the first one that counts something. */
export function shortened(rows: readonly unknown[], rowsMax = Number.POSITIVE_INFINITY): readonly unknown[] {
  if (!rows.every(isObject)) return rows;
  const isLarge = rows.some((row) => Object.keys(row).length > LARGE_FIELDS);
  const usual = isLarge ? LARGE_ROWS_MAX : ROWS_MAX;
  if (rows.length <= Math.min(rowsMax, usual + ROWS_OVER)) return rows;
  const counting = rows.findIndex((row) => Object.values(row).some((value) => Number(value) > 0));
  return rows.slice(Math.max(0, counting)).slice(0, Math.min(rowsMax, usual));
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function uuidOf(random: string): string {
  return [
    random.slice(0, 8),
    random.slice(8, 12),
    `4${random.slice(13, 16)}`,
    `a${random.slice(17, 20)}`,
    random.slice(20, 32),
  ].join('-');
}

function lettersOf(random: string, length: number): string {
  return createHash('sha512').update(random).digest('base64url').repeat(2).slice(0, length);
}
