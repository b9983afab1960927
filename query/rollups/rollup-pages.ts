import { createHash } from 'node:crypto';
import type { StatementRunner } from '../snapshot/history.ts';
import { NO_SEAM, type Seam } from '../snapshot/seam.ts';
import type { SiteParameters, Statement } from '../snapshot/statement.ts';
import type { AnswerRow } from '../sql/answer-rows.ts';
import { ROW_HASHES_MAX } from '../sql/rollup-texts.ts';
import { Otherwise, orElse, type Reason } from '../ways.ts';
import { type CacheSpace, FinalizedCache } from './finalized-cache.ts';
import { KNOWN_MAX, KnownMembers } from './known-members.ts';
import { RollupCache } from './rollup-cache.ts';
import {
  areFew,
  askRollupPages,
  type CountUnion,
  foundSets,
  mergePages,
  type PageRow,
  pageKeyOf,
  pageSets,
  type RollupPageList,
} from './rollup-page-rows.ts';
import { rollupsKeyOf } from './rollup-spans.ts';

/** Pages counted beyond the requested ones: if sessions span several hours, the exact order differs from the ranking. */
const NAMED_MORE = 4;
const GROWTH = 8;
/** Length of the shortest ranking. Longer ones grow by `GROWTH`, so that similar questions share one. */
const RANKED_MIN = 200;
const PAGE_BYTES = 400;

/** A page and an upper bound of its sessions in the rollups. Pages of different origins may have the same path. */
type RankedPath = AnswerRow<'pages-candidates'>;

interface PageRanking {
  readonly pages: readonly RankedPath[];
  /** The ranking has every page. */
  readonly isWhole: boolean;
}

/** The named pages, most sessions first, and the highest number of sessions of any other page in the rows. */
interface NamedPages {
  readonly rows: readonly PageRow[];
  readonly othersMax: number;
}

/** Bound by the statements: the site, the range, its rollups and row hours, and the requested page of rows. */
export type PagedParameters = SiteParameters & { readonly limit: number; readonly offset: number };

/** Limits the statement to pages with these paths; or not, for every page. */
type NamedParameters = SiteParameters & { readonly every: number; readonly paths: readonly string[] };

/** Counted pages of rollups with too many visitors and sessions to hold, and the known ones of these. */
interface CountedPages {
  readonly pages: RollupPageList;
  readonly members: KnownMembers;
}

/**
 * The rows of `pages` from rollups and rows. Only some pages are counted exactly: the first in a ranking with a session
 * counted once in each of its hours or days. The ranking needs no sets and never changes under its key, so it is
 * cached, and so are the rollups of the counted pages.
 *
 * An uncounted page has at most the sessions of the first page left out of the ranking, plus the added ones of rows.
 * Rows above this bound are final. While a requested row is not above it, more pages are counted.
 */
export class RollupPages {
  readonly #rankings: FinalizedCache<PageRanking>;
  readonly #pages: RollupCache<RollupPageList>;
  readonly #counted: FinalizedCache<CountedPages>;
  readonly #knownMax: number;

  constructor(space: CacheSpace, hashesMax?: number, knownMax = KNOWN_MAX) {
    this.#rankings = new FinalizedCache({
      ...{ space, kind: 'page-rankings' },
      bytesOf: ({ pages }) => pages.length * PAGE_BYTES,
      isEager: true,
    });
    this.#pages = new RollupCache(space, 'pages', hashesMax);
    this.#counted = new FinalizedCache({
      ...{ space, kind: 'counted-pages' },
      bytesOf: ({ pages, members }) => pages.length * PAGE_BYTES + members.bytes,
      // Eager, because the first question needs its statements anyway.
      isEager: true,
    });
    this.#knownMax = knownMax;
  }

  async ask(history: StatementRunner, parameters: PagedParameters, seam: Seam): Promise<readonly PageRow[]> {
    const { offset, limit } = parameters;
    const key = rollupsKeyOf(parameters, String(parameters.currency));
    for (let count = offset + limit + NAMED_MORE; ; count *= GROWTH) {
      const { pages, isWhole } = await this.#ranking(history, parameters, key, count + 1, seam);
      const every = isWhole && count >= pages.length;
      const named = every ? [] : [...new Set(pages.slice(0, count).map(({ path }) => path))];
      const bound = { ...parameters, every: every ? 1 : 0, paths: named };
      const sessions = pages.slice(0, count).reduce((sum, page) => sum + page.bound, 0);
      const { rows, othersMax } = await this.#named(history, bound, { rollupsKey: key, sessions }, seam);
      const requested = rows.slice(offset, offset + limit);
      const boundOfOthers = (pages[count]?.bound ?? 0) + othersMax;
      const isFinal = requested.length === limit && (requested.at(-1)?.sessions ?? 0) > boundOfOthers;
      if (every || isFinal) return requested;
    }
  }

  /** A ranking of at least `count` pages, or of every page. */
  async #ranking(
    history: StatementRunner,
    parameters: PagedParameters,
    key: string,
    count: number,
    seam: Seam,
  ): Promise<PageRanking> {
    let ranked = RANKED_MIN;
    while (ranked < count) ranked *= GROWTH;
    return this.#rankings.getOrLoad(`${key} ${ranked}`, async () => {
      const statement: Statement<'pages-candidates'> = {
        name: 'pages-candidates',
        parameters: { ...parameters, ranked },
        why: 'finalized',
      };
      const pages = await history.ask(statement, seam);
      return { pages, isWhole: pages.length < ranked };
    });
  }

  /** The pages with these paths, or every page without paths. `sessions` is the maximum in their rollups. */
  async #named(
    history: StatementRunner,
    bound: NamedParameters,
    { rollupsKey, sessions }: { readonly rollupsKey: string; readonly sessions: number },
    seam: Seam,
  ): Promise<NamedPages> {
    const key = `${rollupsKey} ${createHash('sha256').update(JSON.stringify(bound.paths)).digest('base64')}`;
    this.#pages.noteCount(key, sessions);
    const views = async () => {
      const counted = () => this.#withCounted(history, bound, key, seam);
      const cachedOrCounted = await orElse(await this.#withCached(history, bound, key, seam), counted);
      return orElse(cachedOrCounted, (why) => askRollup(history, bound, seam, why));
    };
    const [{ rows, othersMax }, entered] = await Promise.all([
      views(),
      history.ask({ name: 'pages-entered', parameters: bound, why: 'not-finalized' }, seam),
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

  /** From cached rollups and rows. None if the sets of visitors and sessions are too large. */
  async #withCached(
    history: StatementRunner,
    bound: NamedParameters,
    key: string,
    seam: Seam,
  ): Promise<NamedPages | Otherwise> {
    if (this.#pages.hasTooMany(key)) return new Otherwise('too-many');
    const { hashesMax } = this.#pages;
    const [rollups, found] = await Promise.all([
      this.#pages.get(key, () => askRollupPages(history, 'pages-finalized', { ...bound, hashesMax })),
      askRows(history, bound, seam),
    ]);
    if (rollups instanceof Otherwise) return rollups;
    if (this.#pages.noteRows(key, found.most)) return new Otherwise('too-many');
    return { rows: mergePages(rollups, found.rows), othersMax: found.othersMax };
  }

  /** From counted rollups: the store is asked for the rows' sessions and visitors in them. */
  async #withCounted(
    history: StatementRunner,
    bound: NamedParameters,
    key: string,
    seam: Seam,
  ): Promise<NamedPages | Otherwise> {
    return this.#counted.ask(key, {
      load: async () => {
        const { answer } = await askRollupPages(history, 'pages-counted', bound);
        return { pages: answer, members: new KnownMembers() };
      },
      askRest: () => askRows(history, bound, seam),
      merge: async ({ pages, members }, found) => {
        const wanted = pageSets(found.rows);
        if (found.most > ROW_HASHES_MAX || !areFew(wanted, members, this.#knownMax))
          return new Otherwise('too-many');
        const outside = await members.countOutside(wanted, async (asked) => {
          const parameters = { ...bound, asked };
          const statement: Statement<'pages-members'> = {
            name: 'pages-members',
            parameters,
            why: 'finalized',
          };
          return foundSets(await history.ask(statement, NO_SEAM));
        });
        const countUnion: CountUnion = (set, _rows, name) => (set?.count ?? 0) + (outside.get(name) ?? 0);
        return { rows: mergePages(pages, found.rows, countUnion), othersMax: found.othersMax };
      },
    });
  }
}

/** The named pages in the rows, and the highest number of sessions or visitors of one page. */
async function askRows(history: StatementRunner, bound: NamedParameters, seam: Seam) {
  const statement: Statement<'pages-rows'> = { name: 'pages-rows', parameters: bound, why: 'not-finalized' };
  const found = await history.ask(statement, seam);
  const others = found.find(({ isNamed }) => isNamed === 0);
  return {
    rows: found.filter(({ isNamed }) => isNamed === 1),
    othersMax: others?.sessionsMax ?? 0,
    most: found.reduce((max, row) => Math.max(max, row.sessionsMax, row.visitorHashes.length), 0),
  };
}

/** From rollups and rows, merged by the store. */
async function askRollup(
  history: StatementRunner,
  bound: NamedParameters,
  seam: Seam,
  why: Reason,
): Promise<NamedPages> {
  const rows = await history.ask({ name: 'pages-rollup', parameters: bound, why }, seam);
  const others = rows.find(({ isNamed }) => isNamed === 0);
  return { rows: rows.filter(({ isNamed }) => isNamed === 1), othersMax: others?.sessionsMax ?? 0 };
}
