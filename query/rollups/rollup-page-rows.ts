import { byPageRank } from '../rank-order.ts';
import type { StatementRunner } from '../snapshot/history.ts';
import { NO_SEAM } from '../snapshot/seam.ts';
import type { SiteParameters } from '../snapshot/statement.ts';
import { ROW_HASHES_MAX } from '../sql/rollup-texts.ts';
import type { HashesBySet, KnownMembers } from './known-members.ts';
import { countWith, type HashSet, hashSetOf } from './rollup-cache.ts';

/** A page with its figures. */
export interface PageRow {
  readonly origin: string;
  readonly path: string;
  readonly title: string;
  readonly sessions: number;
  readonly pageviews: number;
  readonly visitors: number;
  /** Minor units as text. */
  readonly revenue: string;
  /** Sessions that began on the page. Only these count for bounces and durations. */
  readonly entries: number;
  readonly bounces: number;
  readonly durationMs: number;
}

/** Views of a page from rollups or from rows, with the latest title. */
interface PageTotals {
  readonly origin: string;
  readonly path: string;
  readonly title: string;
  /** Time of the title in seconds since 1970; meaningless without a title. */
  readonly titleAt: number;
  readonly pageviews: number;
  /** Minor units as text. */
  readonly revenue: string;
}

interface PageEntries {
  readonly entries: number;
  readonly bounces: number;
  readonly durationMs: number;
  /** Sessions with the page that lie within one hour or day of the rollups. */
  readonly sessionsWithin: number;
}

/** A page in rollups. */
export interface RollupPage extends PageTotals, PageEntries {
  /** Sessions that reach beyond an hour or day of the rollups. */
  readonly reaching: HashSet;
  readonly visitors: HashSet;
}

export type RollupPageList = readonly RollupPage[];

/** A named page in the rows. One row for all other pages has only their highest number of sessions. */
export interface PageViews extends PageTotals, PageHashes {
  readonly isNamed: number;
  readonly sessionsMax: number;
}

/** Some pages or every page in rollups. `pages-counted` has no hashes. */
export async function askRollupPages(
  history: StatementRunner,
  name: 'pages-finalized' | 'pages-counted',
  parameters: SiteParameters,
): Promise<{ readonly answer: RollupPageList; readonly hashes: number }> {
  const rows = await history.ask({ name, parameters }, NO_SEAM);
  return {
    answer: rows.map(({ sessionHashes = '', visitorHashes = '', ...row }) => ({
      ...row,
      reaching: hashSetOf(row.reaching, sessionHashes),
      visitors: hashSetOf(row.visitors, visitorHashes),
    })),
    hashes: rows.reduce((sum, { reaching, visitors }) => sum + reaching + visitors, 0),
  };
}

/** The size of the union of a set of rollups and the distinct hashes of rows. `name` identifies the set. */
export type CountUnion = (set: HashSet | undefined, rows: readonly number[], name: string) => number;

/** Names the set of a page's sessions or of its visitors. */
export function pageSetOf(page: string, isVisitor: boolean): string {
  return `${isVisitor ? 'visitors' : 'sessions'} ${page}`;
}

/** Sessions and visitors of a page, as distinct hashes. */
export interface PageHashes extends Pick<PageRow, 'origin' | 'path'> {
  readonly sessionHashes: readonly number[];
  readonly visitorHashes: readonly number[];
}

/** The sets of the pages' sessions and visitors, by name. */
export function pageSets(rows: readonly PageHashes[]): HashesBySet {
  return new Map(
    rows.flatMap((row) => [
      [pageSetOf(pageKeyOf(row), false), row.sessionHashes],
      [pageSetOf(pageKeyOf(row), true), row.visitorHashes],
    ]),
  );
}

/** The asked hashes in one set of a page. */
export interface FoundOnPage extends Pick<PageRow, 'origin' | 'path'> {
  readonly isVisitor: number;
  readonly found: readonly number[];
}

/** By the name of the set. */
export function foundSets(rows: readonly FoundOnPage[]): HashesBySet {
  return new Map(rows.map((row) => [pageSetOf(pageKeyOf(row), row.isVisitor === 1), row.found]));
}

/**
 * The sessions and visitors of rows can be compared with the finalized ones. Otherwise the store may have cut the list
 * of a page.
 * @param knownMax maximum number of known hashes, earlier ones included
 */
export function areFew(sets: HashesBySet, known: KnownMembers | undefined, knownMax: number): boolean {
  const sizes = [...sets.values()].map((hashes) => hashes.length);
  const size = sizes.reduce((sum, each) => sum + each, known?.size ?? 0);
  return sizes.every((each) => each <= ROW_HASHES_MAX) && size <= knownMax;
}

/** Merges rollups and rows of pages. Most sessions first; ties by path and origin, in the store's order. */
export function mergePages(
  rollups: RollupPageList,
  rows: readonly PageViews[],
  countUnion: CountUnion = countWith,
): readonly PageRow[] {
  const rollupByPage = new Map(rollups.map((page) => [pageKeyOf(page), page]));
  const rowsByPage = new Map(rows.map((row) => [pageKeyOf(row), row]));
  const pages = new Set([...rollupByPage.keys(), ...rowsByPage.keys()]);
  return [...pages]
    .map((page) => mergePage(page, rollupByPage.get(page), rowsByPage.get(page), countUnion))
    .filter(({ pageviews }) => pageviews > 0)
    .sort(byPageRank);
}

/** Identifies a page. */
export function pageKeyOf({ origin, path }: Pick<PageRow, 'origin' | 'path'>): string {
  return `${origin}\n${path}`;
}

function mergePage(
  page: string,
  rollup: RollupPage | undefined,
  row: PageViews | undefined,
  countUnion: CountUnion,
): PageRow {
  const titled = [rollup, row].filter((views) => views !== undefined && views.title !== '');
  const [latest] = titled.sort((a, b) => (b?.titleAt ?? 0) - (a?.titleAt ?? 0));
  const { origin = '', path = '' } = rollup ?? row ?? {};
  return {
    origin,
    path,
    title: latest?.title ?? '',
    sessions:
      (rollup?.sessionsWithin ?? 0) +
      countUnion(rollup?.reaching, row?.sessionHashes ?? [], pageSetOf(page, false)),
    pageviews: (rollup?.pageviews ?? 0) + (row?.pageviews ?? 0),
    visitors: countUnion(rollup?.visitors, row?.visitorHashes ?? [], pageSetOf(page, true)),
    revenue: String(BigInt(rollup?.revenue ?? 0) + BigInt(row?.revenue ?? 0)),
    entries: rollup?.entries ?? 0,
    bounces: rollup?.bounces ?? 0,
    durationMs: rollup?.durationMs ?? 0,
  };
}
