import { byPageRank } from '../rank-order.ts';
import type { StatementRunner } from '../snapshot/history.ts';
import { FINALIZED_SEAM, type Seam } from '../snapshot/seam.ts';
import type { AnswerRow } from '../sql/answer-rows.ts';
import { Otherwise } from '../ways.ts';
import type { FilteredPagesParts } from './filtered-parts.ts';
import { type CacheSpace, FinalizedCache } from './finalized-cache.ts';
import { distinctHashes, type HashesBySet, KNOWN_MAX, KnownMembers } from './known-members.ts';
import { requestedRows } from './ranked-parts.ts';
import { areFew, foundSets, type PageRow, pageKeyOf, pageSetOf, pageSets } from './rollup-page-rows.ts';

const ROW_BYTES = 300;
/** With more pages, nothing is cached. */
export const FILTERED_PAGES_MAX = 20_000;
/** With fewer finalized views, counting them with the rest is as fast. */
const VIEWS_MIN = 100_000;

/** A page without its title. */
export type FilteredPageRow = Omit<PageRow, 'title'>;
/** Without the sessions that began on the page. */
type ViewsRow = Omit<FilteredPageRow, 'entries' | 'bounces' | 'durationMs'>;

/** A page of the rest, with all of its sessions and visitors. */
type AddedRow = AnswerRow<'pages-filtered-rows'>;
/** The sessions that began on a page. */
type EnteredRow = Pick<
  AnswerRow<'ranking-finalized'>,
  'prefix' | 'name' | 'sessions' | 'bounces' | 'durationMs'
>;

interface CachedPages {
  /** Most sessions first. */
  readonly rows: readonly ViewsRow[];
  readonly byKey: ReadonlyMap<string, ViewsRow>;
  readonly enteredByKey: ReadonlyMap<string, EnteredRow>;
  readonly members: KnownMembers;
}

/** The pages of sessions that pass filters. The finalized part is cached. */
export class FilteredPages {
  readonly #cache: FinalizedCache<CachedPages>;
  readonly #viewsMin: number;

  /** @param viewsMin with fewer, nothing is cached; 0 caches everything, from the first question on */
  constructor(space: CacheSpace, viewsMin = VIEWS_MIN) {
    this.#cache = new FinalizedCache({
      ...{ space, kind: 'filtered-pages' },
      bytesOf: ({ rows, enteredByKey, members }) =>
        (rows.length + enteredByKey.size) * ROW_BYTES + members.bytes,
      isEager: viewsMin === 0,
    });
    this.#viewsMin = viewsMin;
  }

  /** The requested rows. None when one statement over everything is as fast, or there is too much to cache. */
  async ask(
    history: StatementRunner,
    parts: FilteredPagesParts,
    page: { readonly limit: number; readonly offset: number },
    seam: Seam,
  ): Promise<readonly FilteredPageRow[] | Otherwise> {
    const { key, members: asking } = parts;
    return this.#cache.ask(key, {
      // The finalized part learns from the rest while it is loaded.
      load: async (rest) => {
        const { wanted } = await rest;
        return areFew(wanted, undefined, KNOWN_MAX)
          ? askFinalized(history, parts, wanted, this.#viewsMin)
          : new Otherwise('too-many');
      },
      askRest: async () => {
        const [added, entered] = await Promise.all([
          history.ask(parts.rows, seam),
          history.ask(parts.entered, seam),
        ]);
        return { added, entered, wanted: pageSets(added) };
      },
      merge: async (finalized, { added, entered, wanted }) => {
        const { rows, byKey, members } = finalized;
        if (!areFew(wanted, members, KNOWN_MAX)) return new Otherwise('too-many');
        const outside = await members.countOutside(wanted, async (asked) => {
          const statement = { ...asking, parameters: { ...asking.parameters, asked } };
          return foundSets(await history.ask(statement, FINALIZED_SEAM));
        });
        const rules = {
          keyOf: pageKeyOf,
          sumOf: (row: AddedRow, before: ViewsRow | undefined) => withFinalized(row, before, outside),
          isShown: ({ pageviews }: ViewsRow) => pageviews > 0,
          compare: byPageRank,
        };
        const enteredByKey = byEntryPage(entered);
        return requestedRows({ finalized: rows, byKey, added }, rules, page).map((row) => {
          const pageKey = pageKeyOf(row);
          return withEntered(row, [finalized.enteredByKey.get(pageKey), enteredByKey.get(pageKey)]);
        });
      },
    });
  }
}

/** The finalized part. The same scan finds the wanted sessions and visitors in it. */
async function askFinalized(
  history: StatementRunner,
  { finalized, finalizedEntered }: FilteredPagesParts,
  wanted: HashesBySet,
  viewsMin: number,
): Promise<CachedPages | Otherwise> {
  const asked = distinctHashes(wanted);
  const statement = { ...finalized, parameters: { ...finalized.parameters, asked } };
  const [found, entered] = await Promise.all([
    history.ask(statement, FINALIZED_SEAM),
    history.ask(finalizedEntered, FINALIZED_SEAM),
  ]);
  const views = found.reduce((sum, { pageviews }) => sum + pageviews, 0);
  if (Math.max(found.length, entered.length) > FILTERED_PAGES_MAX) return new Otherwise('too-many');
  if (views < viewsMin) return new Otherwise('few-finalized');
  const members = new KnownMembers();
  members.learn(wanted, pageSets(found));
  const rows = found.map(({ sessionHashes, visitorHashes, ...row }) => row).sort(byPageRank);
  return {
    rows,
    byKey: new Map(rows.map((row) => [pageKeyOf(row), row])),
    enteredByKey: byEntryPage(entered),
    members,
  };
}

function byEntryPage(rows: readonly EnteredRow[]): ReadonlyMap<string, EnteredRow> {
  return new Map(rows.map((row) => [pageKeyOf({ origin: row.prefix, path: row.name }), row]));
}

function withFinalized(
  row: AddedRow,
  before: ViewsRow | undefined,
  outside: ReadonlyMap<string, number>,
): ViewsRow {
  const added = (isVisitor: boolean, hashes: readonly number[]) =>
    outside.get(pageSetOf(pageKeyOf(row), isVisitor)) ?? hashes.length;
  return {
    origin: row.origin,
    path: row.path,
    sessions: (before?.sessions ?? 0) + added(false, row.sessionHashes),
    pageviews: (before?.pageviews ?? 0) + row.pageviews,
    visitors: (before?.visitors ?? 0) + added(true, row.visitorHashes),
    revenue: String(BigInt(before?.revenue ?? 0) + BigInt(row.revenue)),
  };
}

function withEntered(row: ViewsRow, entered: readonly (EnteredRow | undefined)[]): FilteredPageRow {
  const sum = (figure: 'sessions' | 'bounces' | 'durationMs') =>
    entered.reduce((all, each) => all + (each?.[figure] ?? 0), 0);
  return { ...row, entries: sum('sessions'), bounces: sum('bounces'), durationMs: sum('durationMs') };
}
