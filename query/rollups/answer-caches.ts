import { LRUCache } from 'lru-cache';
import type { StoredId } from '../../infra/accounts/ids.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import { FilteredPages } from './filtered-pages.ts';
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

/** The cache of `pages` with and without filters, of page titles, and of the pages that questions showed last. */
export interface PagesCache {
  readonly rollups: RollupPages;
  readonly filtered: FilteredPages;
  readonly titles: FinalizedTitles;
  readonly shown: ShownPages;
}

/** A cache that may hold answers about a site. */
interface OfSite {
  /** Evicts everything of the site with this `storedId`. */
  evict(storedId: StoredId): void;
}

/** Caches of finalized hours and days in one process; together about `bytesMax`. */
export class AnswerCaches {
  readonly figures: FiguresCache;
  readonly pages: PagesCache;
  readonly rankings: SessionRankings;
  readonly visits: FinalizedVisits;
  readonly totals: FinalizedTotals;
  /** For the cache of funnels, which is made elsewhere and joins. */
  readonly funnelBytesMax: number;
  readonly #joined: OfSite[] = [];
  /** Time of the last eviction of a site with a retention, by `storedId`. */
  readonly #evictedAtMs = new LRUCache<string, number>({ max: SITES_MAX });

  constructor(bytesMax = BYTES_MAX) {
    this.figures = new FiguresCache(bytesMax * 0.32);
    this.pages = {
      rollups: new RollupPages(bytesMax * 0.23),
      filtered: new FilteredPages(bytesMax * 0.1),
      titles: new FinalizedTitles(bytesMax * 0.02),
      shown: new ShownPages(bytesMax * 0.02),
    };
    this.rankings = new SessionRankings(bytesMax * 0.1);
    this.visits = new FinalizedVisits(bytesMax * 0.14);
    this.totals = new FinalizedTotals(bytesMax * 0.01);
    this.funnelBytesMax = bytesMax * 0.06;
  }

  /** Adds a cache of another room, which is then evicted with these. */
  join(cache: OfSite): void {
    this.#joined.push(cache);
  }

  /** Evicts answers about a site with a retention, at most every `RETAINED_MAX_MS`. */
  evictRemoved(storedId: StoredId, nowMs: number): void {
    if (nowMs - (this.#evictedAtMs.get(storedId) ?? 0) < RETAINED_MAX_MS) return;
    this.#evictedAtMs.set(storedId, nowMs);
    this.evict(storedId);
  }

  /** Evicts everything of a site. */
  evict(storedId: StoredId): void {
    const { figures, pages, rankings, visits, totals } = this;
    const caches = [
      figures,
      pages.rollups,
      pages.filtered,
      pages.titles,
      pages.shown,
      rankings,
      visits,
      totals,
      ...this.#joined,
    ];
    for (const cache of caches) cache.evict(storedId);
  }
}
