import type { StoreParameters } from '../../infra/store/store.ts';
import type { History } from '../snapshot/history.ts';
import { NO_SEAM } from '../snapshot/seam.ts';
import { countWith, type HashSet, hashSetOf } from './rollup-cache.ts';

/** A page as it is answered. */
export interface PageRow {
  readonly origin: string;
  readonly path: string;
  readonly title: string;
  readonly sessions: number;
  readonly pageviews: number;
  readonly visitors: number;
  /** Minor units as text. */
  readonly revenue: string;
  /** Sessions that began on the page; its bounces and durations are theirs. */
  readonly entries: number;
  readonly bounces: number;
  readonly durationMs: number;
}

/** What sums say of a page, or rows: its latest title and since when, views, and revenue in minor units as text. */
interface Views {
  readonly origin: string;
  readonly path: string;
  readonly title: string;
  /** In seconds since 1970; means nothing without a title. */
  readonly titleAt: number;
  readonly pageviews: number;
  readonly revenue: string;
}

interface Entries {
  readonly entries: number;
  readonly bounces: number;
  readonly durationMs: number;
  /** Those that saw the page and lie within one hour or day of the sums. */
  readonly sessionsWithin: number;
}

interface FinalizedPage extends Views, Entries {
  readonly reaching: number;
  readonly visitors: number;
  readonly sessionHashes: string;
  readonly visitorHashes: string;
}

/** What is kept of a page. */
export interface RollupPage extends Views, Entries {
  /** Sessions that reach beyond an hour or day of the sums. */
  readonly reaching: HashSet;
  readonly visitors: HashSet;
}

export type RollupPageList = readonly RollupPage[];

/** What rows say of a page that is asked for; or of all others, how many sessions one of them has at the most. */
export interface PageViews extends Views {
  readonly isNamed: number;
  readonly sessionsMax: number;
  readonly sessionHashes: readonly number[];
  readonly visitorHashes: readonly number[];
}

/** Asks for what the sums say of some pages, or of all. */
export async function askRollupPages(
  history: Pick<History, 'ask'>,
  parameters: StoreParameters & { readonly hashesMax: number },
): Promise<{ readonly answer: RollupPageList; readonly hashes: number }> {
  const rows = await history.ask<FinalizedPage>('pages-finalized', parameters, NO_SEAM);
  return {
    answer: rows.map(({ sessionHashes, visitorHashes, ...row }) => ({
      ...row,
      reaching: hashSetOf(row.reaching, sessionHashes),
      visitors: hashSetOf(row.visitors, visitorHashes),
    })),
    hashes: rows.reduce((sum, { reaching, visitors }) => sum + reaching + visitors, 0),
  };
}

/** Pages by their sums and their rows together, most sessions first, ties by path and origin as the store orders them. */
export function pagesOf(kept: RollupPageList, rows: readonly PageViews[]): readonly PageRow[] {
  const keptByPage = new Map(kept.map((page) => [pageKeyOf(page), page]));
  const rowsByPage = new Map(rows.map((row) => [pageKeyOf(row), row]));
  const pages = new Set([...keptByPage.keys(), ...rowsByPage.keys()]);
  return [...pages]
    .map((page) => pageOf(keptByPage.get(page), rowsByPage.get(page)))
    .filter(({ pageviews }) => pageviews > 0)
    .sort((a, b) => b.sessions - a.sessions || byBytes(a.path, b.path) || byBytes(a.origin, b.origin));
}

/** What tells a page from all others. */
export function pageKeyOf({ origin, path }: Pick<PageRow, 'origin' | 'path'>): string {
  return `${origin}\n${path}`;
}

function pageOf(kept: RollupPage | undefined, row: PageViews | undefined): PageRow {
  const titled = [kept, row].filter((views) => views !== undefined && views.title !== '');
  const [latest] = titled.sort((a, b) => (b?.titleAt ?? 0) - (a?.titleAt ?? 0));
  const { origin = '', path = '' } = kept ?? row ?? {};
  return {
    origin,
    path,
    title: latest?.title ?? '',
    sessions: (kept?.sessionsWithin ?? 0) + countWith(kept?.reaching, row?.sessionHashes ?? []),
    pageviews: (kept?.pageviews ?? 0) + (row?.pageviews ?? 0),
    visitors: countWith(kept?.visitors, row?.visitorHashes ?? []),
    revenue: String(BigInt(kept?.revenue ?? 0) + BigInt(row?.revenue ?? 0)),
    entries: kept?.entries ?? 0,
    bounces: kept?.bounces ?? 0,
    durationMs: kept?.durationMs ?? 0,
  };
}

function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
