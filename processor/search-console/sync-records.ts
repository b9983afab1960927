import { BusError } from '../../infra/bus/bus-error.ts';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { encodeJson } from '../../infra/bus/mirror.ts';
import { type Sync, syncSchema } from '../search-console.ts';

/** Another process wrote the record since it was read. The next step is read from it again. */
export class SyncOvertakenError extends Error {
  override readonly name = 'SyncOvertakenError';
}

/** A record and the revision that its next write follows. */
export interface StoredSync {
  readonly sync: Sync | undefined;
  readonly revision: number;
}

/** Reads the record of a connection. Throws a `BusError`, or an error for a version that this program does not know. */
export async function readSync(bucket: KeyedBytes, key: string): Promise<StoredSync> {
  const stored = await bucket.get(key);
  if (stored?.bytes === undefined) return { sync: undefined, revision: stored?.revision ?? 0 };
  const sync = syncSchema.parse(JSON.parse(Buffer.from(stored.bytes).toString('utf8')));
  return { sync, revision: stored.revision };
}

/**
 * Writes the record unless another process wrote it since `revision`; returns its revision.
 * @throws {SyncOvertakenError}
 * @throws {BusError}
 */
export async function writeSync(
  bucket: KeyedBytes,
  key: string,
  { sync, revision }: { readonly sync: Sync; readonly revision: number },
): Promise<number> {
  try {
    return await bucket.put(key, encodeJson(sync), revision);
  } catch (error) {
    if (!(error instanceof BusError) || error.reason !== 'conflict') throw error;
    throw new SyncOvertakenError(`another process writes ${key}`, { cause: error });
  }
}
