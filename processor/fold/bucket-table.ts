import { grown } from './column.ts';

const FIRST_BUCKETS = 1024;
const GROWTH = 16_384;

/**
 * Lists of slots by the hash of the slots' contents: each bucket is a list, linked in a column of its owner's. The table grows one bucket
 * at a time: the next bucket in turn is split in two, by one more bit of the hash. So there is no moment at which all of it moves.
 *
 *     8 buckets and 3 more     0 1 2 │ 3 4 5 6 7 │ 8 9 10      the last 3 are split off 0, 1 and 2, with the next bit set
 *                              split   not yet     new
 */
export interface BucketTable {
  /** The first slot of each bucket; 0 for none. */
  heads: Uint32Array;
  /** Buckets in use: `firstCount`, and those that were split off them. */
  count: number;
  /** A power of two. */
  firstCount: number;
}

export function createBuckets(): BucketTable {
  return { heads: new Uint32Array(FIRST_BUCKETS), count: FIRST_BUCKETS, firstCount: FIRST_BUCKETS };
}

/** The bucket of a hash of 32 bits. */
export function bucketOf({ count, firstCount }: BucketTable, hash: number): number {
  const bucket = hash & (2 * firstCount - 1);
  return bucket < count ? bucket : bucket & (firstCount - 1);
}

/** Puts a slot at the front of the list of its bucket. `next` is the column that links the lists. */
export function putFirst(table: BucketTable, next: Uint32Array, slot: number, hash: number): void {
  const bucket = bucketOf(table, hash);
  next[slot] = table.heads[bucket] ?? 0;
  table.heads[bucket] = slot;
}

/** Takes a slot off the list of its bucket; false when it is not on it. */
export function takeOff(table: BucketTable, next: Uint32Array, slot: number, hash: number): boolean {
  const bucket = bucketOf(table, hash);
  const first = table.heads[bucket] ?? 0;
  if (first === slot) table.heads[bucket] = next[slot] ?? 0;
  else {
    let before = first;
    while (before !== 0 && next[before] !== slot) before = next[before] ?? 0;
    if (before === 0) return false;
    next[before] = next[slot] ?? 0;
  }
  next[slot] = 0;
  return true;
}

/** Adds a bucket by splitting the next one in turn. Both halves keep the order of their slots. */
export function splitBucket<Source>(
  table: BucketTable,
  next: Uint32Array,
  source: Source,
  hashOf: (source: Source, slot: number) => number,
): void {
  if (table.count === table.heads.length) table.heads = grown(table.heads, table.count + GROWTH);
  const { heads, count: added, firstCount } = table;
  const parted = added - firstCount;
  table.count += 1;
  if (table.count === 2 * firstCount) table.firstCount *= 2;
  let lastThere = 0;
  let lastHere = 0;
  let slot = heads[parted] ?? 0;
  heads[parted] = 0;
  while (slot !== 0) {
    const following = next[slot] ?? 0;
    next[slot] = 0;
    if (bucketOf(table, hashOf(source, slot)) === added) {
      if (lastThere === 0) heads[added] = slot;
      else next[lastThere] = slot;
      lastThere = slot;
    } else {
      if (lastHere === 0) heads[parted] = slot;
      else next[lastHere] = slot;
      lastHere = slot;
    }
    slot = following;
  }
}
