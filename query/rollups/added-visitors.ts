import { ROW_HASHES_MAX } from '../sql/rollup-texts.ts';
import { HashTable } from './hash-table.ts';
import { KNOWN_MAX, type KnownMembers } from './known-members.ts';

/** The name of the set of a whole span, beside those of its buckets. */
const WHOLE = 'whole';

/** Visitors of the bucket that begins at `edge`. */
export interface BucketVisitors {
  readonly edge: number;
  readonly visitorHashes: readonly number[];
}

/** How many visitors rows add to the finalized part of a span, and to that of each bucket, by its edge. */
export interface AddedVisitors {
  readonly whole: number;
  readonly byEdge: ReadonlyMap<number, number>;
}

/**
 * Counts the visitors of rows that the finalized part of their span does not have, and that of their bucket.
 * @param rows by bucket, with distinct visitors
 * @param isShared whether there is a finalized part of a bucket; where not, it has none of the visitors
 * @param ask which of these visitors the finalized part has, by bucket; all buckets that are not shared may be one
 * @returns undefined where there are too many visitors to be asked about
 */
export async function countAdded(
  members: KnownMembers,
  rows: readonly BucketVisitors[],
  isShared: (edge: number) => boolean,
  ask: (asked: readonly number[]) => Promise<readonly BucketVisitors[]>,
): Promise<AddedVisitors | undefined> {
  const whole = distinctVisitors(rows);
  // What is known stays until the key changes, though these visitors may be gone from the rows.
  if (whole.length > ROW_HASHES_MAX || members.size > KNOWN_MAX) return undefined;
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

/** The visitors of all buckets, each once. */
export function distinctVisitors(rows: readonly BucketVisitors[]): readonly number[] {
  const [first, ...others] = rows;
  // Mostly there is one bucket.
  if (first === undefined || others.length === 0) return first?.visitorHashes ?? [];
  const seen = new HashTable(first.visitorHashes);
  return first.visitorHashes.concat(
    others.flatMap(({ visitorHashes }) => visitorHashes.filter((hash) => seen.add(hash))),
  );
}
