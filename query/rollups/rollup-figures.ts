import type { FigureRow, Figures } from '../figures.ts';
import type { StatementRunner } from '../snapshot/history.ts';
import { NO_SEAM } from '../snapshot/seam.ts';
import type { Statement } from '../snapshot/statement.ts';
import { Otherwise } from '../ways.ts';
import { type AddedVisitors, type BucketVisitors, countAdded } from './added-visitors.ts';
import { FilteredFigures } from './filtered-figures.ts';
import { type CacheSpace, FinalizedCache } from './finalized-cache.ts';
import { KnownMembers } from './known-members.ts';
import { type HashSet, hashSetOf, RollupCache } from './rollup-cache.ts';

const BUCKET_BYTES = 300;

/** The figures of a span from rollups, and its visitors. */
export interface RollupBucket {
  readonly row: FigureRow;
  readonly visitors: HashSet;
}

/** The figures of a whole span from rollups, and of its buckets by their start. */
export interface RollupFigures {
  readonly total: RollupBucket | undefined;
  readonly buckets: ReadonlyMap<number, RollupBucket>;
}

/** The figures of a span with too many visitors to hold, and the known ones of its visitors. */
interface CountedFigures {
  readonly figures: RollupFigures;
  readonly members: KnownMembers;
}

/** The cache of `metrics`: figures of finalized previous spans, and rollups of current spans. */
export class FiguresCache {
  readonly previous: FinalizedCache<Figures>;
  readonly rollups: RollupCache<RollupFigures>;
  /** Spans without cached rollups, or without them yet. */
  readonly counted: FinalizedCache<CountedFigures>;
  /** With filters. */
  readonly filtered: FilteredFigures;

  constructor(space: CacheSpace, visitorsMax?: number, filteredSessionsMin?: number) {
    this.previous = new FinalizedCache({
      ...{ space, kind: 'previous-figures' },
      bytesOf: () => BUCKET_BYTES,
      isEager: true,
    });
    this.rollups = new RollupCache(space, 'figures', visitorsMax);
    this.counted = new FinalizedCache({
      ...{ space, kind: 'counted-figures' },
      bytesOf: ({ figures, members }) => figures.buckets.size * BUCKET_BYTES + members.bytes,
      // Eager, because the first question needs its statements anyway.
      isEager: true,
    });
    this.filtered = new FilteredFigures(space, filteredSessionsMin);
  }

  /** The span is known to have few enough visitors to be cached. */
  isHeld(key: string): boolean {
    const count = this.counted.peek(key)?.figures.total?.visitors.count;
    return count !== undefined && count <= this.rollups.hashesMax && !this.rollups.hasTooMany(key);
  }
}

/** The figures of a span from rollups without its visitors, and the number of visitors that rows add. */
export interface CountedSpan {
  readonly figures: RollupFigures;
  readonly added: AddedVisitors;
}

/**
 * The figures of a span from rollups whose visitors are not cached, and the number of visitors that rows add. None if
 * the rows have too many.
 */
export async function countedFigures(
  history: StatementRunner,
  {
    key,
    counted,
    members: asking,
  }: {
    readonly key: string;
    readonly counted: Statement<'metrics-counted'>;
    readonly members: Statement<'metrics-members'>;
  },
  cache: FiguresCache,
  rows: readonly BucketVisitors[],
): Promise<CountedSpan | Otherwise> {
  const cached = await cache.counted.get(key, async () => {
    const { answer } = await askRollupFigures(history, counted, 0);
    return { figures: answer, members: new KnownMembers() };
  });
  if (cached instanceof Otherwise) return cached;
  const { figures, members } = cached;
  const ask = (asked: readonly number[]) =>
    history.ask({ ...asking, parameters: { ...asking.parameters, asked } }, NO_SEAM);
  const added = await countAdded(members, rows, (edge) => figures.buckets.has(edge), ask);
  if (added instanceof Otherwise) {
    cache.counted.reject(key, added.why);
    return added;
  }
  cache.counted.recount(key, cached);
  return { figures, added };
}

/** Runs a statement for figures of rollups. A row has at most `hashesMax` visitors as hashes. */
export async function askRollupFigures(
  history: StatementRunner,
  { parameters, ...asked }: Statement<'metrics-counted' | 'metrics-finalized'>,
  hashesMax: number,
): Promise<{ readonly answer: RollupFigures; readonly hashes: number }> {
  const statement = { ...asked, parameters: { ...parameters, hashesMax } };
  const rows = await history.ask(statement, NO_SEAM);
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
