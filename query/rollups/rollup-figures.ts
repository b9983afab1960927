import { LRUCache } from 'lru-cache';
import { deleteKeys } from '../../infra/cache/cache-keys.ts';
import type { FigureRow, Figures } from '../figures.ts';
import type { Statement, StatementRunner } from '../snapshot/history.ts';
import { NO_SEAM } from '../snapshot/seam.ts';
import { ROW_HASHES_MAX } from '../sql/rollup-texts.ts';
import { FilteredFigures } from './filtered-figures.ts';
import { type HashesBySet, KnownMembers } from './known-members.ts';
import { type HashSet, hashSetOf, RollupCache } from './rollup-cache.ts';
import { SharedCache } from './shared-cache.ts';

const SPANS_MAX = 10_000;
const KNOWN_MAX = 3 * ROW_HASHES_MAX;
const BUCKET_BYTES = 300;
/** The name of the set of a whole span, beside those of its buckets. */
const WHOLE = 'whole';

/** What rollups say of a span of time, and its visitors. */
export interface RollupBucket {
  readonly row: FigureRow;
  readonly visitors: HashSet;
}

/** What rollups say of a span as a whole, and of each of its buckets by where the bucket begins. */
export interface RollupFigures {
  readonly total: RollupBucket | undefined;
  readonly buckets: ReadonlyMap<number, RollupBucket>;
}

interface RollupFiguresRow extends FigureRow {
  readonly isTotal: number;
  readonly edge: number;
  readonly visitors: number;
  readonly hashes: string;
}

/** What rollups say of a span whose visitors are too many to be here, and what is known of its visitors. */
interface CountedFigures {
  readonly figures: RollupFigures;
  readonly members: KnownMembers;
}

/** The cache of `metrics`: figures of finalized previous spans, and what rollups say of current spans. */
export class FiguresCache {
  readonly previous = new LRUCache<string, Figures>({ max: SPANS_MAX });
  readonly rollups: RollupCache<RollupFigures>;
  /** Spans whose rows have too many visitors to be compared here. */
  readonly uncounted = new LRUCache<string, true>({ max: SPANS_MAX });
  /** Spans with too many visitors for `rollups`. */
  readonly counted: SharedCache<CountedFigures>;

  /** With filters. */
  readonly filtered: FilteredFigures;

  constructor(bytesMax: number, visitorsMax?: number, filteredSessionsMin?: number) {
    this.rollups = new RollupCache(bytesMax * 0.6, visitorsMax);
    this.counted = new SharedCache(
      bytesMax * 0.2,
      ({ figures, members }) => figures.buckets.size * BUCKET_BYTES + members.bytes,
    );
    this.filtered = new FilteredFigures(bytesMax * 0.2, filteredSessionsMin);
  }

  /** Whether the visitors of a span are known to be few enough to be cached. */
  isHeld(key: string): boolean {
    const count = this.counted.peek(key)?.figures.total?.visitors.count;
    return count !== undefined && count <= this.rollups.hashesMax && !this.rollups.hasTooMany(key);
  }

  /** Evicts everything of a site. */
  evict(storedId: string): void {
    deleteKeys(this.previous, `${storedId} `);
    this.rollups.evict(storedId);
    this.counted.evict(storedId);
    this.filtered.evict(storedId);
    deleteKeys(this.uncounted, `${storedId} `);
  }
}

/** A bucket, or the whole span, of which rows have visitors: how many of them the rollups do not have. */
export interface AddedVisitors {
  readonly whole: number;
  readonly byEdge: ReadonlyMap<number, number>;
}

interface FoundInBucket {
  /** Where the bucket begins; -1 for all buckets to which rows add nothing. */
  readonly bucket: number;
  readonly found: readonly number[];
}

/** What rollups say of a span without its visitors, and how many visitors the rows add. */
export interface CountedSpan {
  readonly figures: RollupFigures;
  readonly added: AddedVisitors;
}

/**
 * What rollups say of a span with too many visitors to be cached, and how many the rows add to them: `byEdge` has the distinct
 * visitors of the rows. Undefined where these are too many.
 */
export async function countedFigures(
  history: StatementRunner,
  {
    key,
    counted,
    members: asking,
  }: { readonly key: string; readonly counted: Statement; readonly members: Statement },
  cache: FiguresCache,
  byEdge: ReadonlyMap<number, readonly number[]>,
): Promise<CountedSpan | undefined> {
  const cached = await cache.counted.get(key, async () => {
    const { answer } = await askRollupFigures(history, counted, 0);
    return { figures: answer, members: new KnownMembers() };
  });
  const { figures, members } = cached;
  const whole = new Set([...byEdge.values()].flat());
  // What is known stays until the rollups change, though these visitors may be gone from the rows.
  if (whole.size > ROW_HASHES_MAX || members.size > KNOWN_MAX) {
    cache.uncounted.set(key, true);
    return undefined;
  }
  const wanted = new Map([...byEdge].map(([edge, hashes]) => [String(edge), hashes]));
  const outside = await members.countOutside(wanted.set(WHOLE, [...whole]), async (unknown) => {
    const asked = [...new Set([...unknown.values()].flat())];
    const statement = { ...asking, parameters: { ...asking.parameters, asked } };
    return membersOf(await history.ask<FoundInBucket>(statement, NO_SEAM));
  });
  cache.counted.replace(key, cached);
  return {
    figures,
    added: {
      whole: outside.get(WHOLE) ?? 0,
      byEdge: new Map([...byEdge.keys()].map((edge) => [edge, outside.get(String(edge)) ?? 0])),
    },
  };
}

function membersOf(rows: readonly FoundInBucket[]): HashesBySet {
  const found = new Map(rows.map(({ bucket, found: hashes }) => [String(bucket), hashes]));
  return found.set(
    WHOLE,
    rows.flatMap(({ found: hashes }) => hashes),
  );
}

/** Runs a statement that answers with the figures of rollups, with at most `hashesMax` visitors of a row as hashes. */
export async function askRollupFigures(
  history: StatementRunner,
  { name, parameters }: Statement,
  hashesMax: number,
): Promise<{ readonly answer: RollupFigures; readonly hashes: number }> {
  const statement = { name, parameters: { ...parameters, hashesMax } };
  const rows = await history.ask<RollupFiguresRow>(statement, NO_SEAM);
  const buckets = new Map<number, RollupBucket>();
  let total: RollupBucket | undefined;
  let hashes = 0;
  for (const { isTotal, edge, visitors, hashes: base64, ...row } of rows) {
    const bucket = { row, visitors: hashSetOf(visitors, base64) };
    hashes += isTotal === 1 ? visitors : bucket.visitors.hashes.length;
    if (isTotal === 1) total = bucket;
    else buckets.set(edge, bucket);
  }
  return { answer: { total, buckets }, hashes };
}
