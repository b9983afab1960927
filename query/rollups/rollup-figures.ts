import { LRUCache } from 'lru-cache';
import { deleteKeys } from '../../infra/cache/cache-keys.ts';
import type { FigureRow, Figures } from '../figures.ts';
import type { Statement, StatementRunner } from '../snapshot/history.ts';
import { NO_SEAM } from '../snapshot/seam.ts';
import { type HashSet, hashSetOf, RollupCache } from './rollup-cache.ts';

const SPANS_MAX = 10_000;

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

/** The cache of `metrics`: figures of finalized previous spans, and what rollups say of current spans. */
export class FiguresCache {
  readonly previous = new LRUCache<string, Figures>({ max: SPANS_MAX });
  readonly rollups: RollupCache<RollupFigures>;

  constructor(visitorsMax?: number) {
    this.rollups = new RollupCache(visitorsMax);
  }

  /** Evicts everything of a site. */
  evict(storedId: string): void {
    deleteKeys(this.previous, `${storedId} `);
    this.rollups.evict(storedId);
  }
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
