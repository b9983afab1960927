import type { StatementRunner } from '../snapshot/history.ts';
import { FINALIZED_SEAM, type Seam } from '../snapshot/seam.ts';
import { ROW_HASHES_MAX } from '../sql/rollup-texts.ts';
import type { FilteredPagesParts } from './filtered-parts.ts';
import { type HashesBySet, KnownMembers } from './known-members.ts';
import { byPageRank, type PageRow, pageKeyOf, pageSetOf } from './rollup-page-rows.ts';
import { SharedCache } from './shared-cache.ts';

const ROW_BYTES = 300;
/** With more pages, nothing is cached. */
export const FILTERED_PAGES_MAX = 20_000;
const KNOWN_MAX = 3 * ROW_HASHES_MAX;
/** Fewer finalized views are counted as fast together with the rest. */
const VIEWS_MIN = 100_000;

/** A page without its title. */
export type FilteredPageRow = Omit<PageRow, 'title'>;
/** The same without the sessions that began there. */
type ViewsRow = Omit<FilteredPageRow, 'entries' | 'bounces' | 'durationMs'>;

/** Of the finalized part, with those in question. */
interface FinalizedRow extends ViewsRow {
  readonly foundSessions: readonly number[];
  readonly foundVisitors: readonly number[];
}

interface FreshRow {
  readonly origin: string;
  readonly path: string;
  readonly pageviews: number;
  /** Minor units as text. */
  readonly revenue: string;
  readonly sessionHashes: readonly number[];
  readonly visitorHashes: readonly number[];
}

/** The sessions that began on a page. */
interface EnteredRow {
  readonly prefix: string;
  readonly name: string;
  readonly sessions: number;
  readonly bounces: number;
  readonly durationMs: number;
}

interface FoundOnPage {
  readonly origin: string;
  readonly path: string;
  readonly isVisitor: number;
  readonly found: readonly number[];
}

interface CachedPages {
  readonly kind: 'pages';
  /** Most sessions first. */
  readonly rows: readonly ViewsRow[];
  readonly byKey: ReadonlyMap<string, ViewsRow>;
  readonly enteredByKey: ReadonlyMap<string, EnteredRow>;
  readonly members: KnownMembers;
}

const NOT_CACHED = { kind: 'not-cached' } as const;
type PagesEntry = CachedPages | typeof NOT_CACHED;

/** The pages that sessions viewed which pass filters; the finalized part is cached. */
export class FilteredPages {
  readonly #cache: SharedCache<PagesEntry>;
  readonly #viewsMin: number;

  /** @param viewsMin with fewer, nothing is cached; 0: everything is, from the first question on */
  constructor(bytesMax: number, viewsMin = VIEWS_MIN) {
    this.#cache = new SharedCache(bytesMax, (cached) =>
      cached.kind === 'pages'
        ? (cached.rows.length + cached.enteredByKey.size) * ROW_BYTES + cached.members.bytes
        : 0,
    );
    this.#viewsMin = viewsMin;
  }

  /** Evicts everything of a site. */
  evict(storedId: string): void {
    this.#cache.evict(storedId);
  }

  /** The requested rows. Undefined where one statement over everything answers as fast, or there is too much to cache. */
  async ask(
    history: StatementRunner,
    parts: FilteredPagesParts,
    { limit, offset }: { readonly limit: number; readonly offset: number },
    seam: Seam,
  ): Promise<readonly FilteredPageRow[] | undefined> {
    const { key, members: asking } = parts;
    if (this.#cache.peek(key) === NOT_CACHED) return undefined;
    if (this.#viewsMin > 0 && !this.#cache.isAskedAgain(key)) return undefined;
    const [fresh, entered] = await Promise.all([
      history.ask<FreshRow>(parts.rows, seam),
      history.ask<EnteredRow>(parts.entered, seam),
    ]);
    const wanted = new Map(
      fresh.flatMap((row) => [
        [pageSetOf(pageKeyOf(row), false), row.sessionHashes],
        [pageSetOf(pageKeyOf(row), true), row.visitorHashes],
      ]),
    );
    const size = [...wanted.values()].reduce((sum, hashes) => sum + hashes.length, 0);
    if (size > KNOWN_MAX) return undefined;
    const finalized = await this.#cache.get(key, () => askFinalized(history, parts, wanted, this.#viewsMin));
    if (finalized.kind === 'not-cached') return undefined;
    if (size + finalized.members.size > KNOWN_MAX) {
      this.#cache.replace(key, finalized, NOT_CACHED);
      return undefined;
    }
    const outside = await finalized.members.countOutside(wanted, async (unknown) => {
      const asked = [...new Set([...unknown.values()].flat())];
      const found = await history.ask<FoundOnPage>(
        { ...asking, parameters: { ...asking.parameters, asked } },
        FINALIZED_SEAM,
      );
      return new Map(found.map((row) => [pageSetOf(pageKeyOf(row), row.isVisitor === 1), row.found]));
    });
    this.#cache.replace(key, finalized);
    const freshByKey = new Map(fresh.map((row) => [pageKeyOf(row), row]));
    const enteredByKey = byEntryPage(entered);
    // Of the pages without new views, which keep their order, no later one can be among the requested rows.
    const first = finalized.rows
      .slice(0, offset + limit + fresh.length)
      .filter((row) => !freshByKey.has(pageKeyOf(row)));
    const both = fresh.map((row) => withFinalized(row, finalized.byKey.get(pageKeyOf(row)), outside));
    return [...first, ...both]
      .filter(({ pageviews }) => pageviews > 0)
      .sort(byPageRank)
      .slice(offset, offset + limit)
      .map((row) => {
        const page = pageKeyOf(row);
        return withEntered(row, [finalized.enteredByKey.get(page), enteredByKey.get(page)]);
      });
  }
}

/** Loads the finalized part, and in the same scan which of the wanted sessions and visitors are in it. */
async function askFinalized(
  history: StatementRunner,
  { finalized, finalizedEntered }: FilteredPagesParts,
  wanted: HashesBySet,
  viewsMin: number,
): Promise<PagesEntry> {
  const asked = [...new Set([...wanted.values()].flat())];
  const statement = { ...finalized, parameters: { ...finalized.parameters, asked } };
  const [found, entered] = await Promise.all([
    history.ask<FinalizedRow>(statement, FINALIZED_SEAM),
    history.ask<EnteredRow>(finalizedEntered, FINALIZED_SEAM),
  ]);
  const views = found.reduce((sum, { pageviews }) => sum + pageviews, 0);
  if (Math.max(found.length, entered.length) > FILTERED_PAGES_MAX || views < viewsMin) return NOT_CACHED;
  const members = new KnownMembers();
  const foundBySet = found.flatMap((row) => [
    [pageSetOf(pageKeyOf(row), false), row.foundSessions] as const,
    [pageSetOf(pageKeyOf(row), true), row.foundVisitors] as const,
  ]);
  members.learn(wanted, new Map(foundBySet));
  const rows = found.map(({ foundSessions, foundVisitors, ...row }) => row).sort(byPageRank);
  return {
    kind: 'pages',
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
  row: FreshRow,
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
