import { ROW_HASHES_MAX } from '../sql/rollup-texts.ts';
import { Otherwise } from '../ways.ts';
import { HashTable } from './hash-table.ts';
import { KNOWN_MAX, type KnownMembers } from './known-members.ts';

/** Name of the set for the whole span, beside the sets of its buckets. */
const WHOLE = 'whole';

/** Visitors of the bucket that begins at `edge`. */
export interface BucketVisitors {
  readonly edge: number;
  readonly visitorHashes: readonly number[];
}

/** Number of visitors that rows add to the finalized part of a span, and to each bucket's part, by its edge. */
export interface AddedVisitors {
  readonly whole: number;
  readonly byEdge: ReadonlyMap<number, number>;
}

/**
 * Counts the visitors of rows that are new to the finalized part of their span, and to the part of their bucket.
 * @param rows by bucket, with distinct visitors
 * @param isShared true for a bucket with a finalized part; all visitors are new to the others
 * @param ask finds these visitors in the finalized part, by bucket; buckets that are not shared may be one
 * @returns an `Otherwise` when there are too many visitors to ask about
 */
export async function countAdded(
  members: KnownMembers,
  rows: readonly BucketVisitors[],
  isShared: (edge: number) => boolean,
  ask: (asked: readonly number[]) => Promise<readonly BucketVisitors[]>,
): Promise<AddedVisitors | Otherwise> {
  const whole = distinctVisitors(rows);
  // Known visitors stay until the key changes, even when the rows no longer have them.
  if (whole.length > ROW_HASHES_MAX || members.size > KNOWN_MAX) return new Otherwise('too-many');
  const wanted = new Map<string, readonly number[]>([[WHOLE, whole]]);
  for (const { edge, visitorHashes } of rows) if (isShared(edge)) wanted.set(String(edge), visitorHashes);
  const outside = await members.countOutside(wanted, async (asked) => {
    const found = await ask(asked);
    return new Map([
      ...found.map(({ edge, visitorHashes }) => [String(edge), visitorHashes] as const),
      [WHOLE, found.flatMap(({ visitorHashes }) => visitorHashes)],
    ]);
  });
  const addedTo = ({ edge, visitorHashes }: BucketVisitors) =>
    outside.get(String(edge)) ?? visitorHashes.length;
  return {
    whole: outside.get(WHOLE) ?? 0,
    byEdge: new Map(rows.map((row) => [row.edge, addedTo(row)])),
  };
}

/** The visitors of all buckets, without repetition. */
export function distinctVisitors(rows: readonly BucketVisitors[]): readonly number[] {
  const [first, ...others] = rows;
  // The usual case.
  if (first === undefined || others.length === 0) return first?.visitorHashes ?? [];
  const seen = new HashTable(first.visitorHashes);
  return first.visitorHashes.concat(
    others.flatMap(({ visitorHashes }) => visitorHashes.filter((hash) => seen.add(hash))),
  );
}
