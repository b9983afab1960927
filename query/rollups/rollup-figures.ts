import { LRUCache } from 'lru-cache';
import { deleteKeys } from '../../infra/cache-keys.ts';
import type { StoreParameters } from '../../infra/store/store.ts';
import type { FigureRow, Figures } from '../figures.ts';
import type { History } from '../snapshot/history.ts';
import { NO_SEAM } from '../snapshot/seam.ts';
import { type HashSet, hashSetOf, RollupCache } from './rollup-cache.ts';

const SPANS_MAX = 10_000;

/** What sums alone say of a span of time, and who its visitors are. */
interface RollupBucket {
  readonly row: FigureRow;
  readonly visitors: HashSet;
}

/** What the sums of some hours say of a span, and of each of its buckets by where that begins. */
interface RollupFigures {
  readonly total: RollupBucket | undefined;
  readonly buckets: ReadonlyMap<number, RollupBucket>;
}

interface FinalizedRow extends FigureRow {
  readonly isTotal: number;
  readonly edge: number;
  readonly visitors: number;
  readonly hashes: string;
}

/** What `metrics` keeps: figures of spans that are all summed up, and of spans that are so in part. */
export class FiguresCache {
  readonly spans = new LRUCache<string, Figures>({ max: SPANS_MAX });
  readonly sums: RollupCache<RollupFigures>;

  constructor(visitorsMax?: number) {
    this.sums = new RollupCache(visitorsMax);
  }

  /** Lets go of what is kept of a site. */
  forget(storedId: string): void {
    deleteKeys(this.spans, `${storedId} `);
    this.sums.forget(storedId);
  }
}

/** Asks for what the sums of hours say; with the visitors of the whole and of the buckets that begin at `openEdges`. */
export async function askRollupFigures(
  history: Pick<History, 'ask'>,
  parameters: StoreParameters & { readonly openEdges: readonly number[]; readonly hashesMax: number },
): Promise<{ readonly answer: RollupFigures; readonly hashes: number }> {
  const rows = await history.ask<FinalizedRow>('metrics-finalized', parameters, NO_SEAM);
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
