import { CONTROL_BUCKET } from '../../../infra/accounts/accounts.ts';
import type { Bus } from '../../../infra/bus/bus.ts';
import { BusError } from '../../../infra/bus/bus-error.ts';
import type { KeyedBytes } from '../../../infra/bus/keyed-bytes.ts';
import { ALIASES_BUCKET } from '../../../ingest/entity-update.ts';
import type { NoteWriter } from './table.ts';

/** The buckets of what is managed: records as in infra/accounts/accounts.ts, and other names of profiles. */
export const BUCKETS = [CONTROL_BUCKET, ALIASES_BUCKET] as const;
export type BucketName = (typeof BUCKETS)[number];
export type ControlPlane = Readonly<Record<BucketName, KeyedBytes>>;

/**
 * The days' salts lie beside the records and are never copied: whoever kept them could tell from a device id and an
 * address that they belong together. The service destroys them after two days for that reason.
 */
export const SALT_PREFIX = 'salt.';

/** One value of the control plane. */
export interface ControlEntry {
  readonly bucket: BucketName;
  readonly key: string;
  readonly bytes: Uint8Array;
}

/** A value and the revision that a compare-and-set of it must name. */
export interface StoredEntry extends ControlEntry {
  readonly revision: number;
}

/** What is to become of a key: other bytes, or undefined: it goes. */
export interface EntryChange {
  readonly bucket: BucketName;
  readonly key: string;
  readonly bytes: Uint8Array | undefined;
  /** Of what is there; 0: nothing is. */
  readonly revision: number;
}

const CONCURRENT_REQUESTS = 64;
const ATTEMPTS_MAX = 20;
const PROGRESS_FROM = 1_000;

export async function openControlPlane(bus: Bus): Promise<ControlPlane> {
  return { control: await bus.keyed(CONTROL_BUCKET), aliases: await bus.keyed(ALIASES_BUCKET) };
}

/** Everything that is there but the salts, in the order of buckets and keys. */
export async function readEntries(plane: ControlPlane, writeNote: NoteWriter): Promise<StoredEntry[]> {
  const all: StoredEntry[] = [];
  for (const name of BUCKETS) {
    const keys = (await plane[name].keys()).filter((key) => !isSalt({ bucket: name, key }));
    const values = await readBucket(plane[name], keys, progress(`${name}: read`, keys.length, writeNote));
    for (const [key, value] of [...values].sort(([a], [b]) => (a < b ? -1 : 1))) {
      if (!isSalt({ bucket: name, key })) all.push({ bucket: name, key, ...value });
    }
  }
  return all;
}

/** Does all steps, many at once. Throws at the first that cannot be done; what was begun is finished or is not. */
export async function applyChanges(
  plane: ControlPlane,
  changes: readonly EntryChange[],
  done: () => void,
): Promise<void> {
  await eachOf(changes, done, (change) => applyChange(plane[change.bucket], change));
}

/** Names an entry among those of all buckets. */
export function pathOf({ bucket, key }: Pick<ControlEntry, 'bucket' | 'key'>): string {
  return `${bucket}/${key}`;
}

export function isSalt({ bucket, key }: Pick<ControlEntry, 'bucket' | 'key'>): boolean {
  return bucket === CONTROL_BUCKET && key.startsWith(SALT_PREFIX);
}

/** Counts what is done of `total`, and writeNotes so now and then where that takes a while. */
export function progress(what: string, total: number, writeNote: NoteWriter): () => void {
  const every = PROGRESS_FROM * Math.max(1, Math.ceil(total / (20 * PROGRESS_FROM)));
  let count = 0;
  return () => {
    count += 1;
    if (total > PROGRESS_FROM && (count % every === 0 || count === total))
      writeNote(`${what} ${count} of ${total}`);
  };
}

/** Whoever else changes the key meanwhile was told nothing of this; the step is what was asked for last. */
async function applyChange(bucket: KeyedBytes, { key, bytes, revision }: EntryChange): Promise<void> {
  if (bytes === undefined) return bucket.remove(key);
  let expected = revision;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await bucket.put(key, bytes, expected);
      return;
    } catch (error) {
      const isConflict = error instanceof BusError && error.reason === 'conflict';
      if (!isConflict || attempt === ATTEMPTS_MAX) throw error;
      expected = (await bucket.get(key))?.revision ?? 0;
    }
  }
}

type Stored = Pick<StoredEntry, 'bytes' | 'revision'>;

/** All values of a bucket at once, which takes a small part of the time that asking for each would. */
async function readBucket(
  bucket: KeyedBytes,
  keys: readonly string[],
  done: () => void,
): Promise<Map<string, Stored>> {
  const values = new Map<string, Stored>();
  const stop = await bucket.watch(({ key, bytes, revision }) => {
    if (bytes === undefined) {
      values.delete(key);
      return;
    }
    values.set(key, { bytes, revision });
    done();
  });
  // A watch is taken for complete by counting, while others may write: nothing may be missing without having been asked for.
  const missing = keys.filter((key) => !values.has(key));
  await eachOf(
    missing,
    () => {},
    async (key) => {
      const { bytes, revision = 0 } = (await bucket.get(key)) ?? {};
      if (bytes !== undefined) values.set(key, { bytes, revision });
    },
  );
  stop();
  return values;
}

async function eachOf<One>(
  all: readonly One[],
  done: () => void,
  work: (one: One) => Promise<void>,
): Promise<void> {
  const rest = all.values();
  let failed = false;
  const worker = async () => {
    for (const one of rest) {
      if (failed) return;
      try {
        await work(one);
      } catch (error) {
        failed = true;
        throw error;
      }
      done();
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT_REQUESTS }, worker));
}
