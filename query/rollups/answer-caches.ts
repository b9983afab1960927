import { LRUCache } from 'lru-cache';
import type { StoredId } from '../../infra/accounts/ids.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import { FilteredPages } from './filtered-pages.ts';
import { CacheSpace } from './finalized-cache.ts';
import { FinalizedTitles } from './finalized-titles.ts';
import { FinalizedTotals } from './finalized-totals.ts';
import { FinalizedVisits } from './finalized-visits.ts';
import { FiguresCache } from './rollup-figures.ts';
import { RollupPages } from './rollup-pages.ts';
import { SessionRankings } from './session-rankings.ts';
import { ShownPages } from './shown-pages.ts';

/** Limit of a cache without a limit of its own. */
const BYTES_MAX = 128_000_000;
/** Rows that a site's retention removed from the store leave memory after this time, too. */
const RETAINED_MAX_MS = HOUR_MS;
const SITES_MAX = 10_000;
/** Share of the titles of pages, and of the pages that questions showed last. */
const TITLES_SHARE = 0.02;

/** The cache of `pages` with and without filters, of page titles, and of the pages that questions showed last. */
export interface PagesCache {
  readonly rollups: RollupPages;
  readonly filtered: FilteredPages;
  readonly titles: FinalizedTitles;
  readonly shown: ShownPages;
}

/** Caches of finalized hours and days in one process; together about `bytesMax`. */
export class AnswerCaches {
  /** The space that most of them share; also of caches that are made elsewhere. */
  readonly space: CacheSpace;
  readonly figures: FiguresCache;
  readonly pages: PagesCache;
  readonly rankings: SessionRankings;
  readonly visits: FinalizedVisits;
  readonly totals: FinalizedTotals;
  /** Time of the last eviction of a site with a retention, by `storedId`. */
  readonly #evictedAtMs = new LRUCache<string, number>({ max: SITES_MAX });

  constructor(bytesMax = BYTES_MAX) {
    const ofTitles = bytesMax * TITLES_SHARE;
    this.space = new CacheSpace(bytesMax - 2 * ofTitles);
    this.figures = new FiguresCache(this.space);
    this.pages = {
      rollups: new RollupPages(this.space),
      filtered: new FilteredPages(this.space),
      titles: new FinalizedTitles(ofTitles),
      shown: new ShownPages(ofTitles),
    };
    this.rankings = new SessionRankings(this.space);
    this.visits = new FinalizedVisits(this.space);
    this.totals = new FinalizedTotals(this.space);
  }

  /** Evicts answers about a site with a retention, at most every `RETAINED_MAX_MS`. */
  evictRemoved(storedId: StoredId, nowMs: number): void {
    if (nowMs - (this.#evictedAtMs.get(storedId) ?? 0) < RETAINED_MAX_MS) return;
    this.#evictedAtMs.set(storedId, nowMs);
    this.evict(storedId);
  }

  /** Evicts everything of a site. */
  evict(storedId: StoredId): void {
    for (const cache of [this.space, this.pages.titles, this.pages.shown]) cache.evict(storedId);
  }
}
