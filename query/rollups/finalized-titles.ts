import { LRUCache } from 'lru-cache';
import type { StoredId } from '../../infra/accounts/ids.ts';
import { deleteKeys } from '../../infra/cache/cache-keys.ts';
import type { StatementRunner } from '../snapshot/history.ts';
import { NO_SEAM, type Seam } from '../snapshot/seam.ts';
import type { Statement } from '../snapshot/statement.ts';
import type { AnswerRow } from '../sql/answer-rows.ts';
import { pageKeyOf } from './rollup-page-rows.ts';

/** Estimated bytes of a path with its cache entry. */
const PATH_BYTES = 300;

/** The latest title of a page. */
export type TitleRow = AnswerRow<'page-titles'>;

/** The latest title of a page in some hours. Time in seconds since 1970: when it was seen, or for rollups the start of the hour or day. */
type DatedTitle = AnswerRow<'page-titles-rows'>;

/** The question for page titles, in two parts. */
export interface PageTitlesParts {
  /** Identifies the finalized part, which never changes; begins with the site and a space. */
  readonly key: string;
  /** Run for the `paths` that are not cached. */
  readonly finalized: Statement<'page-titles-finalized'>;
  readonly rows: Statement<'page-titles-rows'>;
}

/** Page titles of finalized hours and days, cached by path. Each question then asks only for titles of the row hours. */
export class FinalizedTitles {
  readonly #titles: LRUCache<string, readonly DatedTitle[]>;
  #evictions = 0;

  constructor(bytesMax: number) {
    this.#titles = new LRUCache({
      maxSize: Math.max(1, Math.floor(bytesMax)),
      sizeCalculation: (titles) => titles.reduce((sum, { lastTitle }) => sum + lastTitle.length, PATH_BYTES),
    });
  }

  /** The latest titles of all pages with these paths, without pages that have no title. */
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
      history.ask(rows, seam),
    ]);
    const latest = new Map<string, DatedTitle>();
    for (const title of [...[...cached.values()].flatMap((titles = []) => titles), ...loaded, ...added]) {
      const pageKey = pageKeyOf(title);
      if (title.titledAt >= (latest.get(pageKey)?.titledAt ?? 0)) latest.set(pageKey, title);
    }
    return [...latest.values()];
  }

  /** Evicts everything of a site. */
  evict(storedId: StoredId): void {
    this.#evictions += 1;
    deleteKeys(this.#titles, `${storedId} `);
  }

  async #load(
    history: StatementRunner,
    key: string,
    { parameters, ...statement }: PageTitlesParts['finalized'],
    paths: readonly string[],
  ): Promise<readonly DatedTitle[]> {
    if (paths.length === 0) return [];
    const evictions = this.#evictions;
    const asked = { ...statement, parameters: { ...parameters, paths } };
    const titles = await history.ask(asked, NO_SEAM);
    // Evicted meanwhile: the loaded titles may have been erased.
    if (evictions !== this.#evictions) return titles;
    const byPath = new Map<string, DatedTitle[]>(paths.map((path) => [path, []]));
    for (const title of titles) byPath.get(title.path)?.push(title);
    for (const [path, ofPath] of byPath) this.#titles.set(`${key} ${path}`, ofPath);
    return titles;
  }
}
