import type { StoredId } from '../../infra/accounts/ids.ts';
import { must } from '../../infra/assert.ts';
import { type Clock, systemClock } from '../../infra/clock.ts';
import type { Counter, Metrics } from '../../infra/metrics.ts';
import { StoreError } from '../../infra/store/store-error.ts';
import { PerShard } from '../../infra/store/store-shards.ts';
import { HeldRows } from '../held-rows/held-rows.ts';
import type { HeldQuery } from '../held-rows/held-sites.ts';
import { untilMoreThanPage } from '../page-size.ts';
import { RejectError } from '../reject.ts';
import type { AnswerRow, StatementName } from '../sql/answer-rows.ts';
import { Otherwise, type Reason } from '../ways.ts';
import type { Permit } from './fair-queue.ts';
import { firstOf } from './first-of.ts';
import { type HistoryShard, type QueuedShard, queuedShard } from './history-shard.ts';
import { MemoryTurns } from './memory-turns.ts';
import { ReaderPace } from './reader-pace.ts';
import { Requester } from './requester.ts';
import { FINALIZED_SEAM, NO_SEAM, type Seam, withHotRows } from './seam.ts';
import { SharedStatements } from './shared-statements.ts';
import { SiteSizes } from './site-sizes.ts';
import type { Statement, StreamedStatement } from './statement.ts';
import { LONG_ROWS, StatementCosts } from './statement-cost.ts';
import { type Measures, measuresOf } from './statement-measures.ts';
import { readStatements, type StatementTexts, type StreamTexts, withTexts } from './statement-texts.ts';
import { rejectOf, StoreAwayError, tooSlow } from './store-rejects.ts';
import { unlessOver } from './unless-over.ts';

const PARAMETERS_MAX_BYTES = 4_194_304;
/**
 * The store pauses a statement while one of a lower number runs, each time for a second at most. Beside four statements
 * that read a hundred million rows on two cores, a statement of 65 ms took 344 ms without priorities and 121 ms with
 * them. 0 means no priority.
 */
const PRIORITY = { short: 1, long: 10 };
/** Added for a team over its share: even another team's long statement comes before its short one. */
const PRIORITY_OVER_SHARE = 20;
/**
 * Off: the store compiles an expression at its third use, which takes longer than a short statement gains. Without
 * compilation, many different questions about small sites took a quarter less CPU.
 */
const UNCOMPILED = { compile_expressions: 0, compile_aggregate_expressions: 0, compile_sort_description: 0 };
/**
 * Minimum pace of a stream's reader while others wait. Socket buffers make a reader take up to a megabyte in one go, so
 * a shorter window would show some fast readers as idle. A longer one would leave waiting streams too little of
 * `WAIT_MAX_MS`.
 */
const READER_PACE = { bytesPerSecMin: 65_536, windowMs: 20_000 };
const PACE_CHECK_EVERY_MS = 1_000;

/** The bytes of a stream, and a signal when it is cut. */
export interface StreamedBytes {
  readonly chunks: AsyncGenerator<Buffer, void, void>;
  /** Aborts with a `RejectError` when the reader is too slow while others wait. The stream is then incomplete. */
  readonly cut: AbortSignal;
}

/** Limits of one statement in the store. */
export interface QuestionLimits {
  readonly timeMaxMs: number;
  readonly memoryMaxBytes: number;
}

export interface HistoryOptions {
  readonly shards: readonly HistoryShard[];
  readonly limits: QuestionLimits;
  /** Number of processes that ask this store; default 1. */
  readonly processes?: number;
  /** Maximum number of events in memory; default 0. */
  readonly heldEventsMax?: number;
  /** See `HeldRowsOptions`. */
  readonly smallSiteMax?: number;
  /** Default: the machine's clock. */
  readonly clock?: Clock;
  /** See `HeldRowsOptions`. */
  readonly elapsedMs?: () => number;
  readonly metrics: Metrics;
}

/** The part of `History` that runs statements. */
export type StatementRunner = Pick<History, 'ask'>;

/** For questions that have another source when the store does not answer. */
export type ImpatientHistory = Pick<History, 'ask' | 'rejectAway' | 'heldFlushes'>;

/** A statement for the store, and the reason against memory. */
interface StoreStatement<Name extends StatementName> extends Statement<Name> {
  readonly notInMemory: Reason;
}

/** Counts a site's events by day. */
const SITE_DAYS = { name: 'site-days', notInMemory: 'no-rows-here' } as const;

/** Reasons to end a statement: the store is unavailable; or it is silent and the question has another source. */
const ENDED_WHY = ['away', 'silent'] as const;

/** A stream while it runs. */
interface StreamTurn {
  readonly name: string;
  readonly site: StoredId;
  readonly requester: Requester;
  readonly permit: Permit;
}

interface StreamRequest {
  readonly requester: Requester;
  readonly site: StoredId;
  readonly cut: AbortController;
}

/**
 * Runs the statements of `sql/` over history and hot rows, with limits for each and for all together. Request values
 * are only ever bound parameters. Errors are `RejectError`s that say what the client can do.
 */
export class History {
  readonly #shards: PerShard<QueuedShard>;
  readonly #ended: Readonly<Record<(typeof ENDED_WHY)[number], Counter>>;
  readonly #limits: QuestionLimits;
  /** By name (`statement-texts.ts`). */
  readonly #statements: ReadonlyMap<string, string>;
  readonly #measures: ReadonlyMap<string, Measures>;
  readonly #costs: StatementCosts;
  readonly #shared: SharedStatements;
  readonly #sizes: SiteSizes;
  readonly #held: HeldRows | undefined;

  constructor(options: HistoryOptions) {
    const { shards, limits, processes = 1, metrics } = options;
    this.#shards = new PerShard(
      shards.map((shard, index) => queuedShard(shard, index, { processes, metrics })),
    );
    this.#ended = metrics.reasons(
      'query_statements_ended_total',
      'statements that were not waited for, because the store was away, or silent and memory could answer',
      ENDED_WHY,
    );
    this.#limits = limits;
    this.#statements = readStatements();
    this.#measures = new Map([...this.#statements.keys()].map((name) => [name, measuresOf(name, metrics)]));
    this.#costs = new StatementCosts(this.#statements);
    this.#shared = new SharedStatements(metrics);
    this.#sizes = new SiteSizes((site) =>
      this.#ask({ ...SITE_DAYS, parameters: { site } }, NO_SEAM, 'away', this.#awayOf(site)),
    );
    const { heldEventsMax = 0 } = options;
    if (heldEventsMax > 0) {
      const turns = new MemoryTurns(metrics);
      this.#held = new HeldRows({
        eventsMax: heldEventsMax,
        smallSiteMax: options.smallSiteMax,
        clock: options.clock ?? systemClock,
        elapsedMs: options.elapsedMs,
        read: (query) => this.#readHeld(query),
        waiting: (wait) => Requester.during('store', wait),
        turn: (site) => turns.take({ requester: requesterOf(site), site }),
        counting: (count) => Requester.within('memory', count),
        metrics,
      });
    }
  }

  /** Throws a `StoreAwayError` when the site's store is known to be unavailable, before anything else is fetched in vain. */
  rejectAway(site: StoredId): void {
    if (!this.#shards.ofSite(site).isReachable()) throw new StoreAwayError(undefined);
  }

  #awayOf(site: StoredId): AbortSignal | undefined {
    return this.#shards.ofSite(site).signals?.away;
  }

  /**
   * The rows of an answer.
   * @throws {RejectError} with the reason; a `StoreAwayError` when the store was not reached
   * @throws {TooManyRowsError} when the statement would read more than its `rowsMax`
   */
  async ask<Name extends StatementName>(statement: Statement<Name>, seam: Seam): Promise<AnswerRow<Name>[]> {
    this.rejectAway(statement.parameters.site);
    const answer = () => this.#answer(statement, seam);
    // Equal statements over these two seams may have begun long ago, so their runs are not shared.
    const isOfMoment = seam !== NO_SEAM && seam !== FINALIZED_SEAM;
    return isOfMoment ? this.#shared.rows(statement, seam, answer) : answer();
  }

  async #answer<Name extends StatementName>(
    statement: Statement<Name>,
    seam: Seam,
  ): Promise<AnswerRow<Name>[]> {
    const held = await this.#heldRows(statement, seam);
    if (!(held instanceof Otherwise)) return held;
    const asked = { ...statement, notInMemory: held.why };
    const rows = await this.#ask(asked, seam, 'away', this.#awayOf(statement.parameters.site));
    this.#held?.note(statement, rows);
    return rows;
  }

  async #heldRows<Name extends StatementName>(
    statement: Statement<Name>,
    seam: Seam,
  ): Promise<AnswerRow<Name>[] | Otherwise> {
    const held = await this.#held?.answer(statement, seam);
    if (held === undefined || held instanceof Otherwise) return held ?? new Otherwise('no-memory');
    Requester.noteWay({ part: statement.name, engine: 'memory', why: held.why });
    return held.rows;
  }

  /**
   * For questions that memory can answer, too. If the store leaves a ping unanswered, `ask` and `rejectAway` throw a
   * `StoreAwayError`, long before the store counts as unavailable.
   */
  readonly impatient: ImpatientHistory = {
    heldFlushes: (site) => this.heldFlushes(site),
    rejectAway: (site) => {
      const { isReachable, signals } = this.#shards.ofSite(site);
      if (!isReachable() || signals?.doubted().aborted) throw new StoreAwayError(undefined);
    },
    ask: async (statement, seam) => {
      const { site } = statement.parameters;
      this.impatient.rejectAway(site);
      const held = this.#heldRows(statement, seam);
      const over = this.#shards.ofSite(site).signals?.doubted();
      const rows =
        over === undefined ? await held : await unlessOver(held, over, () => this.#ended.silent.add());
      return rows instanceof Otherwise
        ? this.#ask({ ...statement, notInMemory: rows.why }, seam, 'silent', over)
        : rows;
    },
  };

  /** By lane, the last flush of a small site with rows in memory; undefined without such rows. */
  heldFlushes(site: StoredId): readonly number[] | undefined {
    return this.#held?.flushesOf(site);
  }

  /** Evicts everything of a site from memory. */
  evict(site: StoredId): void {
    this.#sizes.evict(site);
    this.#held?.evict(site);
  }

  /** Runs a statement for `HeldRows`. It belongs to no client, because several wait for it. */
  async #readHeld({ name, site, seam, behind, columns, fromMs }: HeldQuery): Promise<Buffer> {
    const { team, client } = requesterOf(site);
    const requester = new Requester(team, undefined, client);
    const text = this.#textOf(name, { columns });
    const measures = this.#measures.get(name);
    const after = seam.flushed.map((_, lane) => behind[lane] ?? 0);
    const since = { behind: after, behindLeast: Math.min(...after), fromHour: fromMs / 1000 };
    const bound = { site, flushed: seam.flushed, ...since };
    const { queue, streams, signals } = this.#shards.ofSite(site);
    return queue.run({ requester, site }, async (permit) => {
      const away = signals?.away;
      const ended = firstOf([away]);
      measures?.statements.add();
      try {
        const pieces: Buffer[] = [];
        const settings = { ...this.#settings(text.length, false, permit), max_threads: 1 };
        for await (const piece of streams.bytes(text, bound, settings, ended.signal)) pieces.push(piece);
        return Buffer.concat(pieces);
      } catch (error) {
        if (away?.aborted) this.#ended.away.add();
        throw this.#rejectFor(error, site, requester);
      } finally {
        ended.forget();
      }
    });
  }

  /** Estimates the rows that a statement will read; infinite if unknown. */
  async #estimate({ name, parameters }: Statement): Promise<number> {
    const spans = this.#costs.spansOf(name, parameters);
    return spans.length === 0 ? 0 : this.#sizes.eventsIn(parameters.site, spans);
  }

  /** Runs a statement in its turn. Rejects as soon as `over` aborts, also while the statement waits or runs. */
  async #ask<Name extends StatementName>(
    statement: StoreStatement<Name>,
    seam: Seam,
    why: (typeof ENDED_WHY)[number],
    over: AbortSignal | undefined,
  ): Promise<AnswerRow<Name>[]> {
    const { name, parameters, texts = {}, rowsMax, isPage = false } = statement;
    const text = this.#textOf(name, texts);
    const measures = this.#measures.get(name);
    const requester = requesterOf(parameters.site);
    // A question that memory can answer is short and needs no estimate, which is a statement itself.
    const rowsRead = why === 'away' && rowsMax === undefined ? await this.#estimate(statement) : 0;
    const isLong = rowsRead > LONG_ROWS;
    this.#costs.noteWay(statement, rowsRead);
    const { site } = parameters;
    const { store, queue } = this.#shards.ofSite(site);
    const answer = queue.run({ requester, site, isLong }, async (permit) => {
      if (over?.aborted) throw new StoreAwayError(undefined);
      const ended = firstOf([over, requester.gone]);
      const startedAt = performance.now();
      measures?.statements.add();
      try {
        const bound = { ...parameters, flushed: seam.flushed };
        const { sql, tables } = withHotRows(text, seam, store);
        const settings = this.#settings(sql.length, isLong, permit);
        if (rowsMax !== undefined) settings.max_rows_to_read = rowsMax;
        const isLast = isPage ? untilMoreThanPage<AnswerRow<Name>>() : undefined;
        const rows = store.query<AnswerRow<Name>>(sql, bound, settings, ended.signal, tables, isLast);
        return await Requester.during('store', rows);
      } catch (error) {
        throw this.#rejectFor(error, site, requester);
      } finally {
        ended.forget();
        measures?.seconds.observe((performance.now() - startedAt) / 1000);
      }
    });
    return over === undefined ? answer : unlessOver(answer, over, () => this.#ended[why].add());
  }

  /**
   * The bytes of several answers, one after the other, in the formats that the statements name. The store makes them at
   * the reader's pace, without a time limit. Few streams run together: a stream yields to waiting ones between two
   * statements, and is cut if its reader is too slow while others wait. All statements read one seam, so a pause
   * between them changes nothing. Errors like `ask`.
   */
  stream(name: string, site: StoredId, statements: readonly StreamedStatement[]): StreamedBytes {
    const cut = new AbortController();
    const requester = requesterOf(site);
    return { chunks: this.#streamAll(name, statements, { requester, site, cut }), cut: cut.signal };
  }

  async *#streamAll(
    name: string,
    statements: readonly StreamedStatement[],
    { requester, site, cut }: StreamRequest,
  ): AsyncGenerator<Buffer, void, void> {
    this.rejectAway(site);
    const permit = await this.#shards.ofSite(site).streamQueue.acquire({ requester, site });
    const pace = new ReaderPace(READER_PACE);
    const checking = setInterval(() => {
      if (!pace.isTooSlow(permit.isWanted, performance.now())) return;
      // Immediately, so that only one stream is cut for each waiting one.
      permit.release('slow');
      cut.abort(new RejectError('slow', 'the reader was too slow while others waited'));
    }, PACE_CHECK_EVERY_MS);
    try {
      for (const [index, statement] of statements.entries()) {
        if (index > 0) await permit.yield();
        for await (const bytes of this.#streamOne({ name, site, requester, permit }, statement)) {
          pace.gave(performance.now());
          yield bytes;
          pace.took(bytes.length, performance.now());
          cut.signal.throwIfAborted();
        }
      }
    } finally {
      clearInterval(checking);
      permit.release();
    }
  }

  async *#streamOne(
    { name, site, requester, permit }: StreamTurn,
    { parameters, seam, texts }: StreamedStatement,
  ): AsyncGenerator<Buffer, void, void> {
    const { store, streams, signals } = this.#shards.ofSite(site);
    const text = this.#textOf(name, texts);
    const ended = firstOf([signals?.away, requester.gone]);
    const measures = this.#measures.get(name);
    const startedAt = performance.now();
    measures?.statements.add();
    try {
      const bound = { ...parameters, flushed: seam.flushed };
      const { sql, tables } = withHotRows(text, seam, store);
      const settings = {
        ...this.#settings(sql.length, true, permit),
        ...texts.settings,
        max_execution_time: 0,
      };
      yield* streams.bytes(sql, bound, settings, ended.signal, tables);
    } catch (error) {
      throw this.#rejectFor(error, site, requester);
    } finally {
      ended.forget();
      measures?.seconds.observe((performance.now() - startedAt) / 1000);
    }
  }

  #textOf(name: string, texts: StatementTexts | StreamTexts): string {
    return withTexts(must(this.#statements.get(name), `no statement ${name}`), texts);
  }

  /**
   * The client's error for an error of the store. A timeout although the store answers pings means that the statement
   * exceeded its time at a point where the store does not check it.
   */
  #rejectFor(error: unknown, site: StoredId, { gone }: Requester): unknown {
    if (!(error instanceof StoreError)) return error;
    if (gone?.aborted) return new RejectError('left', 'the client has gone', error);
    if (error.failure === 'timeout' && this.#shards.ofSite(site).isReachable()) return tooSlow(error);
    return rejectOf(error);
  }

  #settings(
    textBytes: number,
    isLong: boolean,
    { isOverShare, isContended }: Pick<Permit, 'isOverShare' | 'isContended'>,
  ): Record<string, number> {
    const priority = isLong ? PRIORITY.long : PRIORITY.short;
    return {
      priority: isOverShare ? PRIORITY_OVER_SHARE + priority : priority,
      // Pauses happen between two blocks of rows. A single block may be long, so it leaves the other threads free.
      ...(isOverShare && isContended ? { max_threads: 1 } : {}),
      // The text is ASCII and includes hot rows; the bound values come on top.
      max_query_size: textBytes + PARAMETERS_MAX_BYTES,
      max_execution_time: Math.ceil(this.#limits.timeMaxMs / 1000),
      max_memory_usage: this.#limits.memoryMaxBytes,
      // Better slow than rejected: large groupings and sorts go to disk before they reach the memory limit.
      max_bytes_before_external_group_by: Math.floor(this.#limits.memoryMaxBytes / 3),
      max_bytes_before_external_sort: Math.floor(this.#limits.memoryMaxBytes / 3),
      // Filters compare text as numbers; by default the last digit may be wrong.
      precise_float_parsing: 1,
      // Sets of sessions are large: sorting one for index lookups takes longer than reading the rows.
      use_index_for_in_with_subqueries: 0,
      ...(isLong ? {} : UNCOMPILED),
    };
  }
}

/** The requester of a statement. Outside of a request, each site is its own team. */
function requesterOf(site: StoredId): Requester {
  return Requester.current ?? new Requester(site);
}
