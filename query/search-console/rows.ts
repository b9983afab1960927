import type { History } from '../snapshot/history.ts';
import type { SearchFigures } from './search-console-api.ts';

/** The sources that the questions need. Rows of the Search Console are only in the store, never hot. */
export interface SearchSources {
  readonly history: Pick<History, 'ask'>;
}

/** Sums of stored rows, as the statements answer them. */
export interface SumsRow {
  readonly clickCount: number;
  readonly impressionCount: number;
  /** The positions of all impressions added up. */
  readonly positionSum: number;
}

/** Sums by page or query. */
export interface RankedSums extends SumsRow {
  readonly word: string;
}

const CTR_SCALE = 1_000_000;
const POSITION_SCALE = 100;

/** The figures of sums; without a row, nothing was counted. The rate has six decimals, the position two. */
export function figuresOf(row: SumsRow | undefined): SearchFigures {
  const clicks = row?.clickCount ?? 0;
  const impressions = row?.impressionCount ?? 0;
  if (row === undefined || impressions === 0) return { clicks, impressions, ctr: 0, position: null };
  return {
    clicks,
    impressions,
    ctr: Math.round((clicks / impressions) * CTR_SCALE) / CTR_SCALE,
    position: Math.round((row.positionSum / impressions) * POSITION_SCALE) / POSITION_SCALE,
  };
}

/** The sums of several rows; undefined without any. */
export function addSums(rows: readonly SumsRow[]): SumsRow | undefined {
  if (rows.length === 0) return undefined;
  let [clickCount, impressionCount, positionSum] = [0, 0, 0];
  for (const row of rows) {
    clickCount += row.clickCount;
    impressionCount += row.impressionCount;
    positionSum += row.positionSum;
  }
  return { clickCount, impressionCount, positionSum };
}
