import { CONTROL_BUCKET } from '../../../infra/accounts/accounts.ts';
import { LINK_PREFIX } from '../../../infra/accounts/sign-in-links.ts';
import type { Bus } from '../../../infra/bus/bus.ts';
import { BusError } from '../../../infra/bus/bus-error.ts';
import type { KeyedBytes } from '../../../infra/bus/keyed-bytes.ts';
import { ALIASES_BUCKET } from '../../../ingest/entity-update.ts';
import { SIGN_IN_PREFIX } from '../../sign-in/sign-in-record.ts';
import type { NoteWriter } from './table.ts';

/** The buckets of the control plane: control records (infra/accounts/accounts.ts) and aliases of profiles. */
export const BUCKETS = [CONTROL_BUCKET, ALIASES_BUCKET] as const;
export type BucketName = (typeof BUCKETS)[number];
export type ControlPlane = Readonly<Record<BucketName, KeyedBytes>>;

/**
 * The daily salts lie beside the records and are never copied. A salt links device ids to IP addresses, so the service
 * destroys each one after two days.
 */
export const SALT_PREFIX = 'salt.';
/** Sign-ins and links belong to the browsers of the moment: no backup has them, and no restore ends them. */
const PASSING_PREFIXES = [SIGN_IN_PREFIX, LINK_PREFIX];

/** One value of the control plane. */
export interface ControlEntry {
  readonly bucket: BucketName;
  readonly key: string;
  readonly bytes: Uint8Array;
}

/** A value with the revision that a compare-and-set must name. */
export interface StoredEntry extends ControlEntry {
  readonly revision: number;
}

/** A write or a removal of one key; undefined `bytes` remove it. */
export interface EntryChange {
  readonly bucket: BucketName;
  readonly key: string;
  readonly bytes: Uint8Array | undefined;
  /** The revision of the present value; 0 if the key is absent. */
  readonly revision: number;
}

const CONCURRENT_REQUESTS = 64;
const ATTEMPTS_MAX = 20;
const PROGRESS_FROM = 1_000;

export async function openControlPlane(bus: Bus): Promise<ControlPlane> {
  return { control: await bus.keyed(CONTROL_BUCKET), aliases: await bus.keyed(ALIASES_BUCKET) };
}

/** Reads everything except salts, sign-ins and links, ordered by bucket and key. */
export async function readEntries(plane: ControlPlane, writeNote: NoteWriter): Promise<StoredEntry[]> {
  const all: StoredEntry[] = [];
  for (const name of BUCKETS) {
    const keys = (await plane[name].keys()).filter((key) => isKept({ bucket: name, key }));
    const values = await readBucket(plane[name], keys, progress(`${name}: read`, keys.length, writeNote));
    for (const [key, value] of [...values].sort(([a], [b]) => (a < b ? -1 : 1))) {
      if (isKept({ bucket: name, key })) all.push({ bucket: name, key, ...value });
    }
  }
  return all;
}

/**
 * Applies all changes concurrently. Throws at the first that fails; changes already started may or may not be applied.
 */
export async function applyChanges(
  plane: ControlPlane,
  changes: readonly EntryChange[],
  done: () => void,
): Promise<void> {
  await eachOf(changes, done, (change) => applyChange(plane[change.bucket], change));
}

/** A name for an entry that is unique over all buckets. */
export function pathOf({ bucket, key }: Pick<ControlEntry, 'bucket' | 'key'>): string {
  return `${bucket}/${key}`;
}

export function isSalt({ bucket, key }: Pick<ControlEntry, 'bucket' | 'key'>): boolean {
  return bucket === CONTROL_BUCKET && key.startsWith(SALT_PREFIX);
}

function isKept(entry: Pick<ControlEntry, 'bucket' | 'key'>): boolean {
  const isPassing = PASSING_PREFIXES.some((prefix) => entry.key.startsWith(prefix));
  return !isSalt(entry) && !(entry.bucket === CONTROL_BUCKET && isPassing);
}

/** Returns a function to call for each item done; it reports the progress of a long operation. */
export function progress(what: string, total: number, writeNote: NoteWriter): () => void {
  const every = PROGRESS_FROM * Math.max(1, Math.ceil(total / (20 * PROGRESS_FROM)));
  let count = 0;
  return () => {
    count += 1;
    if (total > PROGRESS_FROM && (count % every === 0 || count === total))
      writeNote(`${what} ${count} of ${total}`);
  };
}

/** Overwrites concurrent changes of the key, because the command was given last. */
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

/** Reads all values of a bucket with one watch, which takes a small part of the time of single reads. */
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
  // The watch counts values to find its end, and concurrent writes can disturb the count. Read the missed keys one by one.
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
