import { LRUCache } from 'lru-cache';
import type { StoreParameters } from '../../infra/store.ts';
import type { History } from '../history.ts';
import type { Seam } from '../seam.ts';

/** Looked at beyond the rows that are asked for: pages with more visitors in common between hours may change places. */
const NAMED_MORE = 4;
const GROWTH = 8;
/** How long a ranking is made at the least: the next question may ask for more of it. */
const RANKED_MIN = 200;
const RANKINGS_MAX = 500;

/** A page by its sums alone: it has no more sessions in them than this. Two of different origins may have one path. */
interface Candidate {
  readonly path: string;
  readonly bound: number;
}

interface Ranking {
  readonly pages: readonly Candidate[];
  /** There are no others. */
  readonly isWhole: boolean;
}

interface EnteredRow {
  readonly origin: string;
  readonly path: string;
  readonly entries: number;
  readonly bounces: number;
  readonly durationMs: number;
}

interface NamedRow extends EnteredRow {
  readonly isNamed: number;
  readonly sessions: number;
  readonly sessionsMax: number;
}

/** What `summedSpans` gives, the question's own, and which of the rows. */
export type PagedParameters = StoreParameters & { readonly limit: number; readonly offset: number };

/**
 * The rows of `pages`, from sums where they are. Only some pages are looked at in full: those with most sessions when who
 * came in several hours or days is counted in each. That costs no sets, and as sums never change under the same key, the
 * ranking is kept. A page left out has no more sessions than the ranking says of the first one left out, and what the
 * rows add; rows of the answer above that are the first ones. Unless all are, more pages are looked at.
 */
export class SummedPages {
  readonly #rankings = new LRUCache<string, Ranking>({ max: RANKINGS_MAX });

  async ask<Row extends object>(
    history: Pick<History, 'ask'>,
    parameters: PagedParameters,
    seam: Seam,
  ): Promise<Row[]> {
    const { offset, limit } = parameters;
    for (let count = offset + limit + NAMED_MORE; ; count *= GROWTH) {
      const { pages, isWhole } = await this.#ranking(history, parameters, count + 1, seam);
      const every = isWhole && count >= pages.length;
      const rows = await askNamed<Row>(history, parameters, every ? [] : pages.slice(0, count), seam);
      const others = rows.find(({ isNamed }) => isNamed === 0)?.sessionsMax ?? 0;
      const asked = rows.filter(({ isNamed }) => isNamed === 1).slice(offset, offset + limit);
      const bound = (pages[count]?.bound ?? 0) + others;
      if (every || (asked.length === limit && (asked.at(-1)?.sessions ?? 0) > bound)) return asked;
    }
  }

  /** At least `count` pages, where there are so many. */
  async #ranking(
    history: Pick<History, 'ask'>,
    parameters: PagedParameters,
    count: number,
    seam: Seam,
  ): Promise<Ranking> {
    const key = [parameters.site, parameters.dayKeys, parameters.hourKeys].join(' ');
    const kept = this.#rankings.get(key);
    if (kept !== undefined && (kept.isWhole || kept.pages.length >= count)) return kept;
    const ranked = Math.max(RANKED_MIN, count);
    const pages = await history.ask<Candidate>('pages-candidates', { ...parameters, ranked }, seam);
    const ranking = { pages, isWhole: pages.length < ranked };
    this.#rankings.set(key, ranking);
    return ranking;
  }
}

/** The figures of these pages, or of every page when there are none, and how many sessions another one has in the rows. */
async function askNamed<Row extends object>(
  history: Pick<History, 'ask'>,
  parameters: PagedParameters,
  named: readonly Candidate[],
  seam: Seam,
): Promise<(Row & NamedRow)[]> {
  const bound = {
    ...parameters,
    every: named.length === 0 ? 1 : 0,
    paths: [...new Set(named.map(({ path }) => path))],
  };
  const [rows, entered] = await Promise.all([
    history.ask<Row & NamedRow>('pages-summed', bound, seam),
    history.ask<EnteredRow>('pages-entered', bound, seam),
  ]);
  const enteredByPage = new Map(entered.map((row) => [pageKeyOf(row), row]));
  return rows.map((row) => {
    const { entries = 0, bounces = 0, durationMs = 0 } = enteredByPage.get(pageKeyOf(row)) ?? {};
    return {
      ...row,
      entries: row.entries + entries,
      bounces: row.bounces + bounces,
      durationMs: row.durationMs + durationMs,
    };
  });
}

function pageKeyOf({ origin, path }: { readonly origin: string; readonly path: string }): string {
  return `${origin}\n${path}`;
}
