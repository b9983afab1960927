import { createHash } from 'node:crypto';
import type { Filter } from '../filters/filter.ts';
import type { SiteParameters, StatementRunner } from '../snapshot/history.ts';
import { NO_SEAM, type Seam } from '../snapshot/seam.ts';
import type { StatementTexts } from '../snapshot/statement-texts.ts';
import { ROW_HASHES_MAX } from '../sql/rollup-texts.ts';
import type { Span } from '../time/range.ts';
import { type HashesBySet, KnownMembers } from './known-members.ts';
import type { RollupSpans } from './rollup-spans.ts';
import { SharedCache } from './shared-cache.ts';

const ROW_BYTES = 300;
/** A ranking with more rows is not cached. */
const ROWS_MAX = 20_000;
/** Fewer finalized sessions are counted as fast as a cached ranking is merged with the rows. */
const SESSIONS_MIN = 50_000;

/** Of a longer span, only whole days count as finalized: the cached part changes once a day, and a day of rows is soon read. */
const HOURS_SPAN_MAX_MS = 8 * 86_400_000;

/** From when on finalized hours of a span are used, besides finalized days. */
export function finalizedHoursFrom({ fromMs, toMs }: Span): number {
  return toMs - fromMs > HOURS_SPAN_MAX_MS ? Number.POSITIVE_INFINITY : fromMs;
}

/** A row of a ranking of sessions: what its two columns say, and sums. */
interface RankingSums {
  readonly prefix: string;
  readonly name: string;
  readonly sessions: number;
  readonly pageviews: number;
  readonly bounces: number;
  readonly durationMs: number;
  /** Minor units as text. */
  readonly revenue: string;
}

/** A row of a ranking of sessions. */
export interface RankingRow extends RankingSums {
  readonly visitors: number;
}

/** Of the row hours, with the distinct visitors. */
interface FreshRow extends RankingSums {
  readonly visitorHashes: readonly number[];
}

interface VisitorsRow extends Pick<RankingSums, 'prefix' | 'name'> {
  readonly visitors: number;
  readonly found: readonly number[];
}

/** The finalized part of a ranking, most sessions first. */
interface FinalizedRanking {
  readonly kind: 'ranking';
  readonly rows: readonly RankingSums[];
  readonly byKey: ReadonlyMap<string, RankingSums>;
  /** Of the rows that were requested so far, how many visitors each has. */
  readonly visitors: Map<string, number>;
  readonly members: KnownMembers;
}

/** One that is counted with the rows by one statement, every time. */
const NOT_CACHED = { kind: 'not-cached' } as const;
type RankingEntry = FinalizedRanking | typeof NOT_CACHED;

/** Which sessions are ranked by what, and which page of that is requested. */
export interface RankingQuestion {
  readonly parameters: SiteParameters &
    RollupSpans & { readonly currency: string; readonly limit: number; readonly offset: number };
  /** `columns` name the two columns `prefix` and `name`; `rollupTable` is set where rollups of days answer. */
  readonly texts: StatementTexts;
  /** Each of them on sessions alone. */
  readonly filters: readonly Filter[];
}

/**
 * Rankings of sessions by two columns, with filters on sessions or without. What began in finalized hours never changes under
 * the same key, so its sums are cached, and its visitors of the rows that are requested:
 *
 *     finalized     sums of all rows     cached      visitors of requested rows     cached
 *     row hours     sums of all rows     asked       their visitors                 asked: which of them are new to the row?
 *
 * The store is asked about each visitor of the row hours once (`known-members.ts`).
 */
export class SessionRankings {
  readonly #rankings: SharedCache<RankingEntry>;
  readonly #sessionsMin: number;

  /** @param sessionsMin with fewer, nothing is cached; 0: everything is, from the first question on */
  constructor(bytesMax: number, sessionsMin = SESSIONS_MIN) {
    this.#rankings = new SharedCache(bytesMax, bytesOf);
    this.#sessionsMin = sessionsMin;
  }

  /** Evicts the rankings of a site. */
  evict(storedId: string): void {
    this.#rankings.evict(storedId);
  }

  /** The requested rows. Undefined where one statement over everything answers as fast, or there is too much to cache. */
  async ask(
    history: StatementRunner,
    question: RankingQuestion,
    seam: Seam,
  ): Promise<readonly RankingRow[] | undefined> {
    const { parameters, texts, filters } = question;
    const key = keyOf(question);
    if (this.#rankings.peek(key) === NOT_CACHED) return undefined;
    if (this.#sessionsMin > 0 && !this.#rankings.isAskedAgain(key)) return undefined;
    const [finalized, fresh] = await Promise.all([
      this.#rankings.get(key, () => askFinalized(history, question, this.#sessionsMin)),
      history.ask<FreshRow>({ name: 'ranking-rows', parameters, texts, filters }, seam),
    ]);
    if (finalized.kind === 'not-cached') return undefined;
    const rows = requestedRows(finalized, fresh, parameters);
    const freshByKey = new Map(fresh.map((row) => [rowKeyOf(row), row.visitorHashes]));
    const hashes = new Map(rows.map((row) => [rowKeyOf(row), freshByKey.get(rowKeyOf(row)) ?? []]));
    const count = [...hashes.values()].reduce((sum, each) => sum + each.length, 0);
    if (count + finalized.members.size > ROW_HASHES_MAX) {
      this.#rankings.replace(key, finalized, NOT_CACHED);
      return undefined;
    }
    await this.#countVisitors(history, question, finalized, rows, hashes);
    const added = await finalized.members.countOutside(hashes, (unknown) =>
      askMembers(history, question, rows, unknown),
    );
    this.#rankings.replace(key, finalized);
    return rows.map((row) => {
      const rowKey = rowKeyOf(row);
      return { ...row, visitors: (finalized.visitors.get(rowKey) ?? 0) + (added.get(rowKey) ?? 0) };
    });
  }

  /** Counts the finalized visitors of the rows of which they are not known yet, and learns which of the fresh ones are among them. */
  async #countVisitors(
    history: StatementRunner,
    question: RankingQuestion,
    { byKey, visitors, members }: FinalizedRanking,
    rows: readonly RankingSums[],
    fresh: HashesBySet,
  ): Promise<void> {
    const uncounted = rows.filter((row) => byKey.has(rowKeyOf(row)) && !visitors.has(rowKeyOf(row)));
    if (uncounted.length === 0) return;
    const asked = new Map(uncounted.map((row) => [rowKeyOf(row), fresh.get(rowKeyOf(row)) ?? []]));
    const hashes = [...new Set([...asked.values()].flat())];
    const counted = await askVisitors(history, question, uncounted, { asked: hashes, isAsked: 0 });
    const countByKey = new Map(counted.map((row) => [rowKeyOf(row), row.visitors]));
    for (const row of uncounted) visitors.set(rowKeyOf(row), countByKey.get(rowKeyOf(row)) ?? 0);
    members.learn(asked, new Map(counted.map((row) => [rowKeyOf(row), row.found])));
  }
}

function bytesOf(cached: RankingEntry): number {
  if (cached.kind === 'not-cached') return 0;
  return cached.rows.length * ROW_BYTES + cached.members.bytes;
}

/** Begins with the site and a space, so that a site can be evicted. */
function keyOf({ parameters, texts, filters }: RankingQuestion): string {
  const { site, currency, dayKeys, hourKeys } = parameters;
  const about = JSON.stringify([texts.columns, texts.rollupTable, currency, filters]);
  const hash = createHash('sha256').update([about, dayKeys, hourKeys].join('|'));
  return `${site} ${hash.digest('base64')}`;
}

function rowKeyOf({ prefix, name }: Pick<RankingSums, 'prefix' | 'name'>): string {
  return `${prefix}\n${name}`;
}

async function askFinalized(
  history: StatementRunner,
  { parameters, texts, filters }: RankingQuestion,
  sessionsMin: number,
): Promise<RankingEntry> {
  const name = texts.rollupTable === undefined ? 'ranking-finalized' : 'ranking-rollup';
  const statement = { name, parameters: { ...parameters, most: ROWS_MAX + 1 }, texts, filters };
  const rows = await history.ask<RankingSums>(statement, NO_SEAM);
  const sessions = rows.reduce((sum, row) => sum + row.sessions, 0);
  if (rows.length > ROWS_MAX || sessions < sessionsMin) return NOT_CACHED;
  return {
    kind: 'ranking',
    rows: [...rows].sort(byRank),
    byKey: new Map(rows.map((row) => [rowKeyOf(row), row])),
    visitors: new Map(),
    members: new KnownMembers(),
  };
}

/** The requested rows with the sums of both parts, in order. */
function requestedRows(
  { rows, byKey }: FinalizedRanking,
  fresh: readonly FreshRow[],
  { limit, offset }: { readonly limit: number; readonly offset: number },
): readonly RankingSums[] {
  const freshByKey = new Map(fresh.map((row) => [rowKeyOf(row), row]));
  // Of the rows without new sessions, which keep their order, no later one can be among the requested rows.
  const first = rows.slice(0, offset + limit + fresh.length).filter((row) => !freshByKey.has(rowKeyOf(row)));
  const both = [...freshByKey].map(([key, row]) => sumOf(row, byKey.get(key)));
  return [...first, ...both]
    .filter(({ sessions }) => sessions > 0)
    .sort(byRank)
    .slice(offset, offset + limit);
}

function sumOf(fresh: FreshRow, finalized: RankingSums | undefined): RankingSums {
  return {
    prefix: fresh.prefix,
    name: fresh.name,
    sessions: fresh.sessions + (finalized?.sessions ?? 0),
    pageviews: fresh.pageviews + (finalized?.pageviews ?? 0),
    bounces: fresh.bounces + (finalized?.bounces ?? 0),
    durationMs: fresh.durationMs + (finalized?.durationMs ?? 0),
    revenue: String(BigInt(fresh.revenue) + BigInt(finalized?.revenue ?? 0)),
  };
}

/** Most sessions first, ties in the store's order. */
function byRank(a: RankingSums, b: RankingSums): number {
  return b.sessions - a.sessions || byBytes(a.name, b.name) || byBytes(a.prefix, b.prefix);
}

function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** Which of the unknown visitors are among the finalized visitors of their rows. */
async function askMembers(
  history: StatementRunner,
  question: RankingQuestion,
  rows: readonly RankingSums[],
  unknown: HashesBySet,
): Promise<HashesBySet> {
  const ofUnknown = rows.filter((row) => unknown.has(rowKeyOf(row)));
  const asked = [...new Set([...unknown.values()].flat())];
  const found = await askVisitors(history, question, ofUnknown, { asked, isAsked: 1 });
  return new Map(found.map((row) => [rowKeyOf(row), row.found]));
}

/**
 * The finalized visitors of some rows: how many, and which of those in question; with `isAsked`, of these alone. There may be
 * other rows in the answer.
 */
async function askVisitors(
  history: StatementRunner,
  { parameters, texts, filters }: RankingQuestion,
  rows: readonly Pick<RankingSums, 'prefix' | 'name'>[],
  asking: { readonly asked: readonly number[]; readonly isAsked: number },
): Promise<readonly VisitorsRow[]> {
  const bound = {
    prefixes: [...new Set(rows.map(({ prefix }) => prefix))],
    names: [...new Set(rows.map(({ name }) => name))],
    ...asking,
  };
  const name = texts.rollupTable === undefined ? 'ranking-visitors' : 'ranking-visitors-rollup';
  return history.ask({ name, parameters: { ...parameters, ...bound }, texts, filters }, NO_SEAM);
}
