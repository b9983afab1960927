import { BusError } from '../../infra/bus/bus-error.ts';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { type Entry, encodeJson, type Mirror } from '../../infra/bus/mirror.ts';
import type { EndpointAnswer } from '../http/endpoint.ts';
import { RejectError } from '../reject.ts';

/** Times that a change is made anew because somebody else was first. */
const TRIES_MAX = 20;
/** The bus tells a change within milliseconds; later than this the answer goes out before the mirror knows. */
const MIRROR_WAIT_MAX_MS = 1_000;

/**
 * Writes records of the control bucket, each with compare-and-set, so that of two changes at once none is lost: the
 * later one is made of what the earlier one left. With an `If-Match` it is refused instead (412).
 */
export class ControlRecords {
  readonly #bucket: KeyedBytes;

  constructor(bucket: KeyedBytes) {
    this.#bucket = bucket;
  }

  /** Stores a record under a key that is not taken; undefined when it is. */
  async create<Value>(mirror: Mirror<Value>, key: string, value: Value): Promise<Entry<Value> | undefined> {
    try {
      return await this.#put(mirror, key, value, 0);
    } catch (error) {
      if (isConflict(error)) return undefined;
      throw error;
    }
  }

  /** Puts `value` in the place of an entry that is still what it was; undefined when it is not. */
  async replace<Value>(
    mirror: Mirror<Value>,
    { key, revision }: Entry<Value>,
    value: Value,
  ): Promise<Entry<Value> | undefined> {
    try {
      return await this.#put(mirror, key, value, revision);
    } catch (error) {
      if (isConflict(error)) return undefined;
      throw error;
    }
  }

  /**
   * Makes of a record what `change` makes of it, which may be called more than once, and throws to leave it alone.
   * Throws `missing()` when there is none, and a `RejectError` when `ifMatch` names another state of it.
   */
  async change<Value>(
    mirror: Mirror<Value>,
    key: string,
    ifMatch: string,
    { change, missing }: Change<Value>,
  ): Promise<Entry<Value>> {
    return this.#untilFirst(mirror, key, { ifMatch, missing }, (entry) =>
      this.#put(mirror, key, change(entry.value), entry.revision),
    );
  }

  /** Removes a record; what is thrown is as for `change`. Returns what it was. */
  async remove<Value>(
    mirror: Mirror<Value>,
    key: string,
    ifMatch: string,
    missing: () => RejectError,
  ): Promise<Value> {
    return this.#untilFirst(mirror, key, { ifMatch, missing }, async ({ value, revision }) => {
      await this.#bucket.remove(key, revision);
      await seen(mirror, () => mirror.entry(key) === undefined);
      return value;
    });
  }

  /** Does `write` to the newest state of a record, anew for as long as somebody else was first. */
  async #untilFirst<Value, Result>(
    mirror: Mirror<Value>,
    key: string,
    { ifMatch, missing }: { readonly ifMatch: string; readonly missing: () => RejectError },
    write: (entry: Entry<Value>) => Promise<Result>,
  ): Promise<Result> {
    const expected = expectedRevisions(ifMatch);
    let entry = mirror.entry(key);
    // The tag may be of a change that was answered elsewhere and that the mirror is about to be told of.
    if (entry !== undefined && !isExpected(expected, entry)) entry = await this.#fresh(mirror, key);
    for (let attempt = 1; ; attempt += 1) {
      if (entry === undefined) throw missing();
      if (!isExpected(expected, entry))
        throw new RejectError('changed', 'if-match: it was changed since; read it again');
      try {
        return await write(entry);
      } catch (error) {
        if (!isConflict(error)) throw error;
        if (attempt === TRIES_MAX) throw new RejectError('busy', 'too many change it at once', error);
        entry = await this.#fresh(mirror, key);
      }
    }
  }

  async #put<Value>(
    mirror: Mirror<Value>,
    key: string,
    value: Value,
    revision: number,
  ): Promise<Entry<Value>> {
    const next = await this.#bucket.put(key, encodeJson(value), revision);
    // Whoever is answered finds it here at once; other processes follow within moments.
    await seen(mirror, () => (mirror.entry(key)?.revision ?? 0) >= next);
    return { key, value, revision: next };
  }

  /** The record as the bus has it, through the mirror, which reads it. */
  async #fresh<Value>(mirror: Mirror<Value>, key: string): Promise<Entry<Value> | undefined> {
    const stored = await this.#bucket.get(key);
    if (stored === undefined || stored.bytes === undefined) return undefined;
    mirror.take(stored);
    return mirror.entry(key);
  }
}

/** What is to become of a record, and what is said when there is none. */
export interface Change<Value> {
  readonly change: (current: Value) => Value;
  readonly missing: () => RejectError;
}

/** One record as an answer, with the tag that an `If-Match` names. */
export function tagged(entry: Pick<Entry<unknown>, 'revision'>, json: unknown): EndpointAnswer {
  return { json, headers: [['etag', `"${entry.revision}"`]] };
}

/** The revisions that an `If-Match` names; undefined when any will do. Weak tags match nothing (RFC 9110, 13.1.1). */
function expectedRevisions(ifMatch: string): ReadonlySet<string> | undefined {
  const text = ifMatch.trim();
  if (text === '' || text === '*') return undefined;
  if (!/^(?:W\/)?"[^"]*"(?:\s*,\s*(?:W\/)?"[^"]*")*$/.test(text)) {
    throw new RejectError('invalid', 'if-match: expected * or a list of tags in quotes');
  }
  return new Set(text.split(',').map((tag) => tag.trim()));
}

function isExpected(
  expected: ReadonlySet<string> | undefined,
  { revision }: Pick<Entry<unknown>, 'revision'>,
): boolean {
  return expected === undefined || expected.has(`"${revision}"`);
}

function isConflict(error: unknown): boolean {
  return error instanceof BusError && error.reason === 'conflict';
}

/** Resolves once the mirror fulfils `condition`, or after `MIRROR_WAIT_MAX_MS`. */
function seen<Value>(mirror: Mirror<Value>, condition: () => boolean): Promise<void> {
  if (condition()) return Promise.resolve();
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      stop();
      resolve();
    };
    const timer = setTimeout(end, MIRROR_WAIT_MAX_MS);
    const stop = mirror.onChange(() => {
      if (condition()) end();
    });
  });
}
