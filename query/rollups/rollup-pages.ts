import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { deleteKeys } from '../../infra/cache-keys.ts';
import type { StoreParameters } from '../../infra/store/store.ts';
import type { History } from '../snapshot/history.ts';
import type { Seam } from '../snapshot/seam.ts';
import { RollupCache } from './rollup-cache.ts';
import {
  askRollupPages,
  type PageRow,
  type PageViews,
  pageKeyOf,
  pagesOf,
  type RollupPageList,
} from './rollup-page-rows.ts';

type Asks = Pick<History, 'ask'>;

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

/** The pages that were asked for, most sessions first, and how many sessions any other one has in the rows. */
interface NamedPages {
  readonly rows: readonly PageRow[];
  readonly othersMax: number;
}

interface NamedRow extends PageRow {
  readonly isNamed: number;
  readonly sessionsMax: number;
}

type EnteredRow = Pick<PageRow, 'origin' | 'path' | 'entries' | 'bounces' | 'durationMs'>;

/** What `rollupSpans` gives, the question's own, and which of the rows. */
export type PagedParameters = StoreParameters & { readonly limit: number; readonly offset: number };

/** The same, and of which pages: of those with these paths, or of every page. */
type NamedParameters = StoreParameters & { readonly every: number; readonly paths: readonly string[] };

/**
 * The rows of `pages`, from sums where they are. Only some pages are looked at in full: those with most sessions when who
 * came in several hours or days is counted in each. That costs no sets, and as sums never change under the same key, the
 * ranking is kept, and so are the sums of those pages. A page left out has no more sessions than the ranking says of the
 * first one left out, and what the rows add; rows of the answer above that are the first ones. Unless all are, more pages
 * are looked at.
 */
export class RollupPages {
  readonly #rankings = new LRUCache<string, Ranking>({ max: RANKINGS_MAX });
  readonly #pages: RollupCache<RollupPageList>;

  constructor(hashesMax?: number) {
    this.#pages = new RollupCache(hashesMax);
  }

  /** Lets go of what is kept of a site. */
  forget(storedId: string): void {
    deleteKeys(this.#rankings, `${storedId} `);
    this.#pages.forget(storedId);
  }

  async ask(history: Asks, parameters: PagedParameters, seam: Seam): Promise<readonly PageRow[]> {
    const { offset, limit } = parameters;
    const sums = createHash('sha256').update([parameters.dayKeys, parameters.hourKeys].join('|'));
    const key = `${parameters.site} ${parameters.currency} ${sums.digest('base64')}`;
    for (let count = offset + limit + NAMED_MORE; ; count *= GROWTH) {
      const { pages, isWhole } = await this.#ranking(history, parameters, key, count + 1, seam);
      const every = isWhole && count >= pages.length;
      const named = every ? [] : [...new Set(pages.slice(0, count).map(({ path }) => path))];
      const bound = { ...parameters, every: every ? 1 : 0, paths: named };
      const { rows, othersMax } = await this.#named(history, bound, key, seam);
      const asked = rows.slice(offset, offset + limit);
      const boundOfOthers = (pages[count]?.bound ?? 0) + othersMax;
      if (every || (asked.length === limit && (asked.at(-1)?.sessions ?? 0) > boundOfOthers)) return asked;
    }
  }

  /** At least `count` pages, where there are so many. */
  async #ranking(
    history: Asks,
    parameters: PagedParameters,
    key: string,
    count: number,
    seam: Seam,
  ): Promise<Ranking> {
    const kept = this.#rankings.get(key);
    if (kept !== undefined && (kept.isWhole || kept.pages.length >= count)) return kept;
    const ranked = Math.max(RANKED_MIN, count);
    const pages = await history.ask<Candidate>('pages-candidates', { ...parameters, ranked }, seam);
    const ranking = { pages, isWhole: pages.length < ranked };
    this.#rankings.set(key, ranking);
    return ranking;
  }

  /** The pages with these paths, or every page when there are none. */
  async #named(history: Asks, bound: NamedParameters, sumsKey: string, seam: Seam): Promise<NamedPages> {
    const key = `${sumsKey} ${createHash('sha256').update(JSON.stringify(bound.paths)).digest('base64')}`;
    const views = async () => {
      const found = this.#pages.hasTooMany(key)
        ? undefined
        : await this.#withCached(history, bound, key, seam);
      return found ?? askRollup(history, bound, seam);
    };
    const [{ rows, othersMax }, entered] = await Promise.all([
      views(),
      history.ask<EnteredRow>('pages-entered', bound, seam),
    ]);
    const enteredByPage = new Map(entered.map((row) => [pageKeyOf(row), row]));
    return {
      othersMax,
      rows: rows.map((row) => {
        const { entries = 0, bounces = 0, durationMs = 0 } = enteredByPage.get(pageKeyOf(row)) ?? {};
        return {
          ...row,
          entries: row.entries + entries,
          bounces: row.bounces + bounces,
          durationMs: row.durationMs + durationMs,
        };
      }),
    };
  }

  /** From what is kept of their sums, and from rows. Undefined when too many have seen them for that. */
  async #withCached(
    history: Asks,
    bound: NamedParameters,
    key: string,
    seam: Seam,
  ): Promise<NamedPages | undefined> {
    const { hashesMax } = this.#pages;
    const [kept, found] = await Promise.all([
      this.#pages.get(key, () => askRollupPages(history, { ...bound, hashesMax })),
      history.ask<PageViews>('pages-rows', bound, seam),
    ]);
    const most = found.reduce((max, row) => Math.max(max, row.sessionsMax, row.visitorHashes.length), 0);
    if (kept === undefined || this.#pages.noteRows(key, most)) return undefined;
    const others = found.find(({ isNamed }) => isNamed === 0);
    const rows = found.filter(({ isNamed }) => isNamed === 1);
    return { rows: pagesOf(kept, rows), othersMax: others?.sessionsMax ?? 0 };
  }
}

/** All of it by the store. */
async function askRollup(history: Asks, bound: NamedParameters, seam: Seam): Promise<NamedPages> {
  const rows = await history.ask<NamedRow>('pages-rollup', bound, seam);
  const others = rows.find(({ isNamed }) => isNamed === 0);
  return { rows: rows.filter(({ isNamed }) => isNamed === 1), othersMax: others?.sessionsMax ?? 0 };
}
