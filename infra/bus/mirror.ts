import type { z } from 'zod';
import type { Logger } from '../log.ts';
import type { KeyedBytes, KeyedValue } from './keyed-bytes.ts';

/** A value and the revision that a compare-and-set of it must name. */
export interface Entry<Value> {
  readonly key: string;
  readonly value: Value;
  readonly revision: number;
}

/** What became of a key: `after` is undefined when it was removed. */
export type MirrorListener<Value> = (
  after: Entry<Value> | undefined,
  before: Entry<Value> | undefined,
) => void;

/**
 * All values of a bucket whose keys begin with `prefix`, read as JSON by a schema, in memory. `followBucket` fills it and
 * keeps it up to date, so that a look-up costs no I/O and a change is known everywhere within moments.
 */
export class Mirror<Value> {
  readonly prefix: string;
  readonly #schema: z.ZodType<Value>;
  readonly #entries = new Map<string, Entry<Value>>();
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

  entries(): IterableIterator<Entry<Value>> {
    return this.#entries.values();
  }

  /** Calls `listener` after each change, until the returned function is called. */
  onChange(listener: MirrorListener<Value>): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Takes a change over. Returns what is wrong with a value that cannot be read: the last good one stays then. */
  take({ key, bytes, revision }: KeyedValue): string | undefined {
    const before = this.#entries.get(key);
    if (bytes === undefined) {
      this.#entries.delete(key);
      if (before !== undefined) for (const listener of this.#listeners) listener(undefined, before);
      return undefined;
    }
    // After a lost connection everything is told again.
    if (before !== undefined && before.revision >= revision) return undefined;
    const parsed = this.#schema.safeParse(jsonOf(bytes));
    if (!parsed.success) return parsed.error.issues[0]?.message ?? 'unreadable';
    const after = { key, value: parsed.data, revision };
    this.#entries.set(key, after);
    for (const listener of this.#listeners) listener(after, before);
    return undefined;
  }
}

/**
 * Keeps mirrors of one bucket up to date until the returned function is called; resolves once everything that is stored
 * now is known. Keys of no mirror are passed over.
 */
export async function followBucket(
  bucket: KeyedBytes,
  mirrors: readonly Pick<Mirror<unknown>, 'prefix' | 'take'>[],
  log: Logger,
): Promise<() => void> {
  return bucket.watch((value) => {
    const mirror = mirrors.find(({ prefix }) => value.key.startsWith(prefix));
    const problem = mirror?.take(value);
    if (problem === undefined) return;
    // The last good value stays: a damaged one must not open a door, nor shut everybody out without a word.
    const { key, revision } = value;
    log.error({ key, revision, problem }, 'a stored record cannot be read; it is ignored');
  });
}

/** The bytes that a mirror reads `value` from. */
export function encodeJson(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}

function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    return undefined; // The schema refuses it with a message.
  }
}
