import { DAY_MS } from '../../infra/durations.ts';
import type { Filter } from '../filters/filter.ts';
import { byRank } from '../rank-order.ts';
import type { StatementRunner } from '../snapshot/history.ts';
import { NO_SEAM, type Seam } from '../snapshot/seam.ts';
import type { SiteParameters, Statement } from '../snapshot/statement.ts';
import type { StatementTexts } from '../snapshot/statement-texts.ts';
import type { AnswerRow } from '../sql/answer-rows.ts';
import { ROW_HASHES_MAX } from '../sql/rollup-texts.ts';
import type { Span } from '../time/range.ts';
import { Otherwise, type Reason } from '../ways.ts';
import { type CacheSpace, FinalizedCache } from './finalized-cache.ts';
import { HashTable } from './hash-table.ts';
import { distinctHashes, type HashesBySet, KNOWN_MAX, KnownMembers } from './known-members.ts';
import { requestedRows } from './ranked-parts.ts';
import {
  type FinalizedHours,
  floorTo,
  isCutByDay,
  type RecentHours,
  type RollupSpans,
  rollupsKeyOf,
} from './rollup-spans.ts';

const ROW_BYTES = 300;
/** A ranking with more rows is not cached. */
const ROWS_MAX = 20_000;
/** With fewer finalized sessions, counting them is as fast as merging a cached ranking with the rows. */
const SESSIONS_MIN = 50_000;
/** Full days before today that may not be rolled up completely. */
const RECENT_DAYS = 2;
const HASH_BYTES = 8;

/**
 * The finalized hours that a ranking uses. A long span is cut at a midnight in UTC, so that it is loaded once a day.
 * The hours since then (up to 27, until the day is rolled up) and the hours before the first whole day are cached
 * separately.
 * @param toldFromMs the lookup returns hours from this time on, or from an earlier one
 */
export function rankedHoursOf(
  span: Span,
  nowMs: number,
  toldFromMs = Number.POSITIVE_INFINITY,
): FinalizedHours {
  return isCutByDay(span)
    ? {
        fromMs: Number.POSITIVE_INFINITY,
        recentFromMs: Math.min(floorTo(nowMs, DAY_MS) - RECENT_DAYS * DAY_MS, toldFromMs),
      }
    : { fromMs: span.fromMs, recentFromMs: Number.POSITIVE_INFINITY };
}

/** A row of a ranking of sessions: its two columns, and sums. */
type RankingSums = AnswerRow<'ranking-finalized'>;
export type RankingRow = AnswerRow<'breakdown'>;
/** Sessions that began in the row hours, with their distinct visitors. */
type AddedRow = AnswerRow<'ranking-rows'>;

/** Sessions that began in the row hours: the sums of all rows, and a row's distinct visitors by its key. */
interface Added {
  readonly added: readonly RankingSums[];
  readonly visitorsOf: (rowKey: string) => readonly number[];
}

function addedOf(rows: readonly AddedRow[]): Added {
  const byKey = new Map(rows.map((row) => [rowKeyOf(row), row]));
  return { added: rows, visitorsOf: (rowKey) => byKey.get(rowKey)?.visitorHashes ?? [] };
}

/** Sessions that began in the recent hours. Most rows are not requested, so visitors are united only for requested ones. */
class RecentRows {
  readonly #byKey: ReadonlyMap<string, AddedRow>;

  constructor(rows: readonly AddedRow[]) {
    this.#byKey = new Map(rows.map((row) => [rowKeyOf(row), row]));
  }

  /** Approximate size. */
  get bytes(): number {
    let bytes = 0;
    for (const { visitorHashes } of this.#byKey.values())
      bytes += ROW_BYTES + HASH_BYTES * visitorHashes.length;
    return bytes;
  }

  /** These rows added to the rows of other hours. */
  with(latest: readonly AddedRow[]): Added {
    const latestByKey = new Map(latest.map((row) => [rowKeyOf(row), row]));
    const unchanged = [...this.#byKey].filter(([rowKey]) => !latestByKey.has(rowKey)).map(([, row]) => row);
    const changed = [...latestByKey].map(([rowKey, row]) => sumOf(row, this.#byKey.get(rowKey)));
    return {
      added: [...unchanged, ...changed],
      visitorsOf: (rowKey) => {
        const recent = this.#byKey.get(rowKey)?.visitorHashes ?? [];
        const more = latestByKey.get(rowKey)?.visitorHashes ?? [];
        const table = new HashTable(more);
        return more.concat(recent.filter((hash) => table.markOf(hash) === undefined));
      },
    };
  }
}

type VisitorsRow = AnswerRow<'ranking-visitors'>;

/** The finalized part of a ranking. */
interface FinalizedRanking {
  /** Most sessions first. */
  readonly rows: readonly RankingSums[];
  readonly byKey: ReadonlyMap<string, RankingSums>;
  /** The number of visitors of each row that was requested before. */
  readonly visitors: Map<string, number>;
  readonly members: KnownMembers;
}

/** A page of a ranking of sessions. */
export interface RankingQuestion {
  readonly parameters: SiteParameters &
    RollupSpans & { readonly currency: string; readonly limit: number; readonly offset: number };
  /** `columns` name the two columns `prefix` and `name`; `rollupTable` is set when rollups of days answer. */
  readonly texts: StatementTexts;
  /** All are filters on sessions. */
  readonly filters: readonly Filter[];
  readonly recent: RecentHours;
}

/**
 * Rankings of sessions by two columns, with filters on sessions or without. Sessions that began in finalized hours
 * never change under the same key. So their sums are cached, and their visitors for requested rows:
 *
 *     finalized     sums of all rows     cached      visitors of requested rows     cached
 *     recent hours  sums of all rows     cached      their visitors                 cached; as below
 *     row hours     sums of all rows     asked       their visitors                 asked: which of them are new to the row?
 *
 * The store is asked about each visitor of the row hours once (`known-members.ts`).
 */
export class SessionRankings {
  readonly #rankings: FinalizedCache<FinalizedRanking>;
  readonly #recent: FinalizedCache<RecentRows>;
  readonly #sessionsMin: number;

  /** @param sessionsMin with fewer, nothing is cached; 0 caches everything, from the first question on */
  constructor(space: CacheSpace, sessionsMin = SESSIONS_MIN) {
    this.#recent = new FinalizedCache({
      ...{ space, kind: 'recent-rankings' },
      bytesOf: ({ bytes }) => bytes,
      isEager: true,
    });
    this.#rankings = new FinalizedCache({
      ...{ space, kind: 'rankings' },
      bytesOf: ({ rows, members }) => rows.length * ROW_BYTES + members.bytes,
      isEager: sessionsMin === 0,
    });
    this.#sessionsMin = sessionsMin;
  }

  /** The requested rows. None when one statement over everything is as fast, or there is too much to cache. */
  async ask(
    history: StatementRunner,
    question: RankingQuestion,
    seam: Seam,
  ): Promise<readonly RankingRow[] | Otherwise> {
    const { parameters } = question;
    return this.#rankings.ask(keyOf(question), {
      load: () => askFinalized(history, question, this.#sessionsMin),
      askRest: () => this.#askAdded(history, question, seam),
      merge: async (finalized, { added, visitorsOf }) => {
        const { rows: ranked, byKey, members } = finalized;
        const rows = requestedRows({ finalized: ranked, byKey, added }, RULES, parameters);
        const hashes = new Map(rows.map((row) => [rowKeyOf(row), visitorsOf(rowKeyOf(row))]));
        const count = [...hashes.values()].reduce((sum, each) => sum + each.length, 0);
        // Known visitors stay until the key changes, even when the rows no longer have them.
        if (count > ROW_HASHES_MAX || members.size > KNOWN_MAX) return new Otherwise('too-many');
        await this.#countVisitors(history, question, finalized, rows, hashes);
        const outside = await members.countOutside(hashes, (asked, unknown) =>
          askMembers(history, question, rows, asked, unknown),
        );
        return rows.map((row) => {
          const rowKey = rowKeyOf(row);
          return { ...row, visitors: (finalized.visitors.get(rowKey) ?? 0) + (outside.get(rowKey) ?? 0) };
        });
      },
    });
  }

  /** Sessions that began in all other hours. */
  async #askAdded(history: StatementRunner, question: RankingQuestion, seam: Seam): Promise<Added> {
    const { hours, keys } = question.recent;
    const { rowHours } = question.parameters;
    if (hours.length === 0) return addedOf(await askRows(history, question, rowHours, seam));
    const recentKey = keyOf({
      ...question,
      parameters: { ...question.parameters, dayKeys: [], hourKeys: keys },
    });
    // All rows of a finalized hour are in the store, so the seam does not matter.
    const recent = await this.#recent.get(
      recentKey,
      async () => new RecentRows(await askRows(history, question, hours, NO_SEAM, 'finalized')),
    );
    if (recent instanceof Otherwise) return addedOf(await askRows(history, question, rowHours, seam));
    const known = new Set(hours);
    const latest = rowHours.filter((hour) => !known.has(hour));
    return recent.with(await askRows(history, question, latest, seam));
  }

  /** Counts the finalized visitors of newly requested rows, and learns which of the added visitors are among them. */
  async #countVisitors(
    history: StatementRunner,
    question: RankingQuestion,
    { byKey, visitors, members }: FinalizedRanking,
    rows: readonly RankingSums[],
    added: HashesBySet,
  ): Promise<void> {
    const uncounted = rows.filter((row) => byKey.has(rowKeyOf(row)) && !visitors.has(rowKeyOf(row)));
    if (uncounted.length === 0) return;
    const asked = new Map(uncounted.map((row) => [rowKeyOf(row), added.get(rowKeyOf(row)) ?? []]));
    const counted = await askVisitors(history, question, uncounted, {
      asked: distinctHashes(asked),
      isAsked: 0,
    });
    const countByKey = new Map(counted.map((row) => [rowKeyOf(row), row.visitors]));
    for (const row of uncounted) visitors.set(rowKeyOf(row), countByKey.get(rowKeyOf(row)) ?? 0);
    members.learn(asked, new Map(counted.map((row) => [rowKeyOf(row), row.found])));
  }
}

/** Begins with the site and a space, so that a site can be evicted. */
function keyOf({ parameters, texts, filters }: RankingQuestion): string {
  const about = [texts.columns, texts.rollupTable, parameters.currency, filters];
  return rollupsKeyOf(parameters, JSON.stringify(about));
}

function rowKeyOf({ prefix, name }: Pick<RankingSums, 'prefix' | 'name'>): string {
  return `${prefix}\n${name}`;
}

function askRows(
  history: StatementRunner,
  { parameters, texts, filters }: RankingQuestion,
  rowHours: readonly number[],
  seam: Seam,
  why: Reason = 'not-finalized',
): Promise<readonly AddedRow[]> {
  const statement: Statement<'ranking-rows'> = {
    ...{ name: 'ranking-rows', texts, filters, why },
    parameters: { ...parameters, rowHours },
  };
  return history.ask(statement, seam);
}

async function askFinalized(
  history: StatementRunner,
  { parameters, texts, filters }: RankingQuestion,
  sessionsMin: number,
): Promise<FinalizedRanking | Otherwise> {
  const name = texts.rollupTable === undefined ? 'ranking-finalized' : 'ranking-rollup';
  const statement: Statement<typeof name> = {
    ...{ name, texts, filters, why: 'finalized' },
    parameters: { ...parameters, most: ROWS_MAX + 1 },
  };
  const rows = await history.ask(statement, NO_SEAM);
  const sessions = rows.reduce((sum, row) => sum + row.sessions, 0);
  if (rows.length > ROWS_MAX) return new Otherwise('too-many');
  if (sessions < sessionsMin) return new Otherwise('few-finalized');
  return {
    rows: [...rows].sort(byRank),
    byKey: new Map(rows.map((row) => [rowKeyOf(row), row])),
    visitors: new Map(),
    members: new KnownMembers(),
  };
}

function sumOf(added: RankingSums, finalized: RankingSums | undefined): RankingSums {
  return {
    prefix: added.prefix,
    name: added.name,
    sessions: added.sessions + (finalized?.sessions ?? 0),
    pageviews: added.pageviews + (finalized?.pageviews ?? 0),
    bounces: added.bounces + (finalized?.bounces ?? 0),
    durationMs: added.durationMs + (finalized?.durationMs ?? 0),
    revenue: String(BigInt(added.revenue) + BigInt(finalized?.revenue ?? 0)),
  };
}

const RULES = {
  keyOf: rowKeyOf,
  sumOf,
  isShown: ({ sessions }: RankingSums) => sessions > 0,
  compare: byRank,
};

/** The unknown visitors that are among the finalized visitors of their rows. */
async function askMembers(
  history: StatementRunner,
  question: RankingQuestion,
  rows: readonly RankingSums[],
  asked: readonly number[],
  unknown: HashesBySet,
): Promise<HashesBySet> {
  const ofUnknown = rows.filter((row) => unknown.has(rowKeyOf(row)));
  const found = await askVisitors(history, question, ofUnknown, { asked, isAsked: 1 });
  return new Map(found.map((row) => [rowKeyOf(row), row.found]));
}

/**
 * The number of finalized visitors of some rows, and the asked ones among them; with `isAsked`, only the latter. The
 * answer may have other rows, too.
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
  const statement: Statement<typeof name> = {
    ...{ name, texts, filters, why: 'finalized' },
    parameters: { ...parameters, ...bound },
  };
  return history.ask(statement, NO_SEAM);
}
