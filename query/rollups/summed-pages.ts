import type { StoreParameters } from '../../infra/store.ts';
import type { History } from '../history.ts';
import type { Seam } from '../seam.ts';

/** Looked at beyond the rows that are asked for: pages with more visitors in common between hours may change places. */
const CANDIDATES_MORE = 12;
const CANDIDATES_GROWTH = 8;

/** What a row of the statement says of the others. */
interface Ranking {
  readonly sessions: number;
  readonly leastBound: number;
  readonly candidates: number;
}

/**
 * The rows of `pages-summed`, in which only some pages are looked at in full: those with the most sessions when who came
 * in several hours is counted in each. No page left out has more than the least of them by that count, so rows above it
 * are the first ones; unless all are, more pages are looked at.
 */
export async function askSummedPages<Row extends object>(
  history: Pick<History, 'ask'>,
  parameters: StoreParameters & { readonly limit: number; readonly offset: number },
  seam: Seam,
): Promise<Row[]> {
  let candidates = parameters.offset + parameters.limit + CANDIDATES_MORE;
  for (;;) {
    const rows = await history.ask<Row & Ranking>('pages-summed', { ...parameters, candidates }, seam);
    const last = rows.at(-1);
    if (last === undefined || last.candidates < candidates || last.sessions > last.leastBound) return rows;
    candidates *= CANDIDATES_GROWTH;
  }
}
