import { LRUCache } from 'lru-cache';
import { deleteKeys } from '../../infra/cache/cache-keys.ts';
import type { Statement, StatementRunner } from '../snapshot/history.ts';
import { NO_SEAM, type Seam } from '../snapshot/seam.ts';
import { pageKeyOf } from './rollup-page-rows.ts';

/** What a path may take, and what belongs to an entry. */
const PATH_BYTES = 300;

/** The latest title of a page. */
export interface TitleRow {
  readonly origin: string;
  readonly path: string;
  readonly lastTitle: string;
}

/** The latest title of a page in some hours, and when it was seen, in seconds since 1970; in rollups, when the hour or day began. */
interface DatedTitle extends TitleRow {
  readonly titledAt: number;
}

/** The question for the titles of pages, in two parts. */
export interface PageTitlesParts {
  /** Identifies the finalized part, which never changes; begins with the site and a space. */
  readonly key: string;
  /** Asked with the `paths` that are not cached. */
  readonly finalized: Statement;
  readonly rows: Statement;
}

/** The titles of pages in finalized hours and days, cached path by path: only those of the row hours are asked for each time. */
export class FinalizedTitles {
  readonly #titles: LRUCache<string, readonly DatedTitle[]>;
  #evictions = 0;

  constructor(bytesMax: number) {
    this.#titles = new LRUCache({
      maxSize: Math.max(1, Math.floor(bytesMax)),
      sizeCalculation: (titles) => titles.reduce((sum, { lastTitle }) => sum + lastTitle.length, PATH_BYTES),
    });
  }

  /** The latest titles of all pages with these paths; a page without any title is missing. */
  async ask(
    history: StatementRunner,
    { key, finalized, rows }: PageTitlesParts,
    paths: readonly string[],
    seam: Seam,
  ): Promise<readonly TitleRow[]> {
    const cached = new Map(paths.map((path) => [path, this.#titles.get(`${key} ${path}`)]));
    const missing = paths.filter((path) => cached.get(path) === undefined);
    const [loaded, added] = await Promise.all([
      this.#load(history, key, finalized, missing),
      history.ask<DatedTitle>(rows, seam),
    ]);
    const latest = new Map<string, DatedTitle>();
    for (const title of [...[...cached.values()].flatMap((titles = []) => titles), ...loaded, ...added]) {
      const pageKey = pageKeyOf(title);
      if (title.titledAt >= (latest.get(pageKey)?.titledAt ?? 0)) latest.set(pageKey, title);
    }
    return [...latest.values()];
  }

  /** Evicts everything of a site. */
  evict(storedId: string): void {
    this.#evictions += 1;
    deleteKeys(this.#titles, `${storedId} `);
  }

  async #load(
    history: StatementRunner,
    key: string,
    { parameters, ...statement }: Statement,
    paths: readonly string[],
  ): Promise<readonly DatedTitle[]> {
    if (paths.length === 0) return [];
    const evictions = this.#evictions;
    const asked = { ...statement, parameters: { ...parameters, paths } };
    const titles = await history.ask<DatedTitle>(asked, NO_SEAM);
    // Evicted meanwhile: what was loaded may have been erased.
    if (evictions !== this.#evictions) return titles;
    const byPath = new Map<string, DatedTitle[]>(paths.map((path) => [path, []]));
    for (const title of titles) byPath.get(title.path)?.push(title);
    for (const [path, ofPath] of byPath) this.#titles.set(`${key} ${path}`, ofPath);
    return titles;
  }
}
