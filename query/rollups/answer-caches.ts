import { FilteredPages } from './filtered-pages.ts';
import { FinalizedVisits } from './finalized-visits.ts';
import { FiguresCache } from './rollup-figures.ts';
import { RollupPages } from './rollup-pages.ts';
import { SessionRankings } from './session-rankings.ts';

/** What a cache without a limit of its own may take. */
const BYTES_MAX = 128_000_000;

/** The cache of `pages`, without filters and with them. */
export class PagesCache {
  readonly rollups: RollupPages;
  readonly filtered: FilteredPages;

  constructor(rollups: RollupPages, filtered: FilteredPages) {
    this.rollups = rollups;
    this.filtered = filtered;
  }
}

/** What a process keeps of finalized hours and days, to answer questions; together some `bytesMax`. */
export class AnswerCaches {
  readonly figures: FiguresCache;
  readonly pages: PagesCache;
  readonly rankings: SessionRankings;
  readonly visits: FinalizedVisits;

  constructor(bytesMax = BYTES_MAX) {
    this.figures = new FiguresCache(bytesMax * 0.35);
    this.pages = new PagesCache(new RollupPages(bytesMax * 0.3), new FilteredPages(bytesMax * 0.1));
    this.rankings = new SessionRankings(bytesMax * 0.1);
    this.visits = new FinalizedVisits(bytesMax * 0.15);
  }

  /** Evicts everything of a site. */
  evict(storedId: string): void {
    for (const cache of [this.figures, this.pages.rollups, this.pages.filtered, this.rankings, this.visits])
      cache.evict(storedId);
  }
}
