import { BusError } from '../../infra/bus/bus-error.ts';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { type Entry, encodeJson, type Mirror } from '../../infra/bus/mirror.ts';
import type { EndpointAnswer } from '../http/endpoint.ts';
import { RejectError } from '../reject.ts';
import type { TeamBytes } from './team-bytes.ts';

/** Maximum number of attempts for a write while others change the same record. */
const ATTEMPTS_MAX = 20;
/** The bus propagates a change within milliseconds. After this time the response is sent although the mirror lags. */
const MIRROR_WAIT_MAX_MS = 1_000;

/**
 * Writes records of the control bucket with compare-and-set, so that no concurrent change is lost: a later change is
 * applied to the result of an earlier one. With `If-Match` it is rejected instead (412).
 */
export class ControlRecords {
  readonly #bucket: KeyedBytes;
  readonly #teamBytes: TeamBytes | undefined;

  /** Without `teamBytes` there is no limit, for writes of the operator. */
  constructor(bucket: KeyedBytes, teamBytes?: TeamBytes) {
    this.#bucket = bucket;
    this.#teamBytes = teamBytes;
  }

  /** Stores a record under a free key; undefined if the key is taken. Throws a `RejectError` if its team has no room. */
  async create<Value>(mirror: Mirror<Value>, key: string, value: Value): Promise<Entry<Value> | undefined> {
    return this.#putUnlessConflict(mirror, { key, value, revision: 0 });
  }

  /** Replaces an entry if it is unchanged; undefined otherwise. Throws like `create`. */
  async replace<Value>(
    mirror: Mirror<Value>,
    { key, revision }: Entry<Value>,
    value: Value,
  ): Promise<Entry<Value> | undefined> {
    return this.#putUnlessConflict(mirror, { key, value, revision });
  }

  /** Stores a record again as it was, whatever room its team has. Undefined if `revision`, 0 for none, is not the present one. */
  async restore<Value>(
    mirror: Mirror<Value>,
    { key, value }: Entry<Value>,
    revision: number,
  ): Promise<Entry<Value> | undefined> {
    return this.#putUnlessConflict(mirror, { key, value, revision }, true);
  }

  /**
   * Applies `change` to a record; it may be called more than once, and throws to abort. Throws `missing()` if the
   * record does not exist, and a `RejectError` if `ifMatch` names another version.
   */
  async change<Value>(
    mirror: Mirror<Value>,
    key: string,
    ifMatch: string,
    { change, missing, mayExceed }: Change<Value>,
  ): Promise<Entry<Value>> {
    return this.#retryOnConflict(mirror, key, { ifMatch, missing }, ({ value, revision }) =>
      this.#put(mirror, { key, value: change(value), revision }, mayExceed),
    );
  }

  /** Removes a record and returns it. Throws like `change`. */
  async remove<Value>(
    mirror: Mirror<Value>,
    key: string,
    ifMatch: string,
    missing: () => RejectError,
  ): Promise<Value> {
    return this.removeShown(mirror, key, { ifMatch, missing }, (value) => value);
  }

  /**
   * Removes a record and returns it as `shown` shows it before the removal: what else is kept of a record may end with it. `shown` may be
   * called more than once. Throws like `change`.
   */
  async removeShown<Value, Shown>(
    mirror: Mirror<Value>,
    key: string,
    { ifMatch, missing }: { readonly ifMatch: string; readonly missing: () => RejectError },
    shown: (value: Value) => Shown,
  ): Promise<Shown> {
    return this.#retryOnConflict(mirror, key, { ifMatch, missing }, async ({ value, revision }) => {
      const last = shown(value);
      await this.#bucket.remove(key, revision);
      await seen(mirror, () => mirror.entry(key) === undefined);
      return last;
    });
  }

  /** Applies `write` to the latest state of a record and repeats it after each conflict. */
  async #retryOnConflict<Value, Result>(
    mirror: Mirror<Value>,
    key: string,
    { ifMatch, missing }: { readonly ifMatch: string; readonly missing: () => RejectError },
    write: (entry: Entry<Value>) => Promise<Result>,
  ): Promise<Result> {
    const expected = expectedRevisions(ifMatch);
    let entry = mirror.entry(key);
    // The ETag may be of a change made through another process, which the mirror has not received yet.
    if (entry !== undefined && !isExpected(expected, entry)) entry = await this.#fresh(mirror, key);
    for (let attempt = 1; ; attempt += 1) {
      if (entry === undefined) throw missing();
      if (!isExpected(expected, entry))
        throw new RejectError('changed', 'if-match: the record has changed; read it again');
      try {
        return await write(entry);
      } catch (error) {
        if (!isConflict(error)) throw error;
        if (attempt === ATTEMPTS_MAX)
          throw new RejectError('busy', 'too many concurrent changes; try again', error);
        entry = await this.#fresh(mirror, key);
      }
    }
  }

  /** Undefined if the key is not at the entry's revision. */
  async #putUnlessConflict<Value>(
    mirror: Mirror<Value>,
    entry: Entry<Value>,
    mayExceed?: boolean,
  ): Promise<Entry<Value> | undefined> {
    try {
      return await this.#put(mirror, entry, mayExceed);
    } catch (error) {
      if (isConflict(error)) return undefined;
      throw error;
    }
  }

  /** Writes a value that replaces the revision of the entry. */
  async #put<Value>(
    mirror: Mirror<Value>,
    { key, value, revision }: Entry<Value>,
    mayExceed = false,
  ): Promise<Entry<Value>> {
    const encoded = encodeJson(value);
    const put = () => this.#bucket.put(key, encoded, revision);
    const write = { mirror, key, value, bytes: encoded.byteLength };
    const next =
      this.#teamBytes === undefined || mayExceed ? await put() : await this.#teamBytes.write(write, put);
    // The caller finds its own change in this mirror; other processes follow within moments.
    await seen(mirror, () => (mirror.entry(key)?.revision ?? 0) >= next);
    return { key, value, revision: next };
  }

  /** Reads the record from the bus into the mirror. */
  async #fresh<Value>(mirror: Mirror<Value>, key: string): Promise<Entry<Value> | undefined> {
    const stored = await this.#bucket.get(key);
    if (stored === undefined || stored.bytes === undefined) return undefined;
    mirror.take(stored);
    return mirror.entry(key);
  }
}

/** A change of a record, and the error if the record does not exist. */
export interface Change<Value> {
  readonly change: (current: Value) => Value;
  readonly missing: () => RejectError;
  /** True if it is possible without room: a deletion, or an undo of a change. */
  readonly mayExceed?: boolean;
}

/** A record as a response with its ETag. */
export function tagged(entry: Pick<Entry<unknown>, 'revision'>, json: unknown): EndpointAnswer {
  return { json, headers: [['etag', `"${entry.revision}"`]] };
}

/** The revisions that an `If-Match` names; undefined if any matches. Weak ETags match nothing (RFC 9110, 13.1.1). */
function expectedRevisions(ifMatch: string): ReadonlySet<string> | undefined {
  const text = ifMatch.trim();
  if (text === '' || text === '*') return undefined;
  if (!/^(?:W\/)?"[^"]*"(?:\s*,\s*(?:W\/)?"[^"]*")*$/.test(text)) {
    throw new RejectError('invalid', 'if-match: expected * or a list of quoted ETags');
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
