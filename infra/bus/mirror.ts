import type { z } from 'zod';
import type { Logger } from '../log.ts';
import { DecodeError } from './decode-error.ts';
import type { KeyedBytes, KeyedValue } from './keyed-bytes.ts';

/** A value and the revision that a compare-and-set of it must name. */
export interface Entry<Value> {
  readonly key: string;
  readonly value: Value;
  readonly revision: number;
}

/** Receives the change of a key: `after` is undefined when it was removed. */
export type MirrorListener<Value> = (
  after: Entry<Value> | undefined,
  before: Entry<Value> | undefined,
) => void;

/**
 * All values of a bucket whose keys begin with `prefix`, read as JSON by a schema, in memory. `followBucket` fills and
 * updates it, so that a look-up costs no I/O and every process sees a change within moments.
 */
export class Mirror<Value> {
  readonly prefix: string;
  readonly #schema: z.ZodType<Value>;
  readonly #entries = new Map<string, Entry<Value>>();
  readonly #bytes = new Map<string, number>();
  readonly #listeners = new Set<MirrorListener<Value>>();

  constructor(prefix: string, schema: z.ZodType<Value>) {
    this.prefix = prefix;
    this.#schema = schema;
  }

  get(key: string): Value | undefined {
    return this.#entries.get(key)?.value;
  }

  entry(key: string): Entry<Value> | undefined {
    return this.#entries.get(key);
  }

  /** The stored size of a record in bytes; 0 without a record. */
  bytesOf(key: string): number {
    return this.#bytes.get(key) ?? 0;
  }

  entries(): IterableIterator<Entry<Value>> {
    return this.#entries.values();
  }

  /** Calls `listener` after each change, until the returned function is called. */
  onChange(listener: MirrorListener<Value>): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Applies a change.
   * @throws {DecodeError} when the value cannot be read; the last readable one stays, so that a damaged record neither
   * grants nor denies access
   */
  take({ key, bytes, revision }: KeyedValue): void {
    const before = this.#entries.get(key);
    if (bytes === undefined) {
      this.#entries.delete(key);
      this.#bytes.delete(key);
      if (before !== undefined) for (const listener of this.#listeners) listener(undefined, before);
      return;
    }
    // After a lost connection every key comes again.
    if (before !== undefined && before.revision >= revision) return;
    const parsed = this.#schema.safeParse(jsonOf(bytes));
    if (!parsed.success) throw new DecodeError(parsed.error.issues[0]?.message ?? 'unreadable');
    const after = { key, value: parsed.data, revision };
    this.#entries.set(key, after);
    this.#bytes.set(key, bytes.byteLength);
    for (const listener of this.#listeners) listener(after, before);
  }
}

/**
 * Updates mirrors of one bucket until the returned function is called. Resolves once everything stored by now is known.
 * Keys of no mirror are ignored, and so are unreadable records, which the bucket counts and logs. For a single mirror
 * the bus sends only its keys, so its user needs no right to the others.
 */
export async function followBucket(
  bucket: KeyedBytes,
  mirrors: readonly Pick<Mirror<unknown>, 'prefix' | 'take'>[],
  log: Logger,
): Promise<() => void> {
  const take = (value: KeyedValue) => mirrors.find(({ prefix }) => value.key.startsWith(prefix))?.take(value);
  const [only] = mirrors;
  return bucket.watch(take, log, mirrors.length === 1 && only !== undefined ? `${only.prefix}>` : '>');
}

/** Encodes `value` as a mirror reads it. */
export function encodeJson(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}

function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    return undefined; // The schema rejects it with a message.
  }
}
