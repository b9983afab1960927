import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { must } from '../../infra/assert.ts';
import type { Counter, Histogram, Metrics } from '../../infra/metrics.ts';
import { projectRoot } from '../../infra/root.ts';
import { type Store, StoreError, type StoreParameters, type StoreSettings } from '../../infra/store/store.ts';
import { RejectError } from '../reject.ts';
import { withRollupTexts } from '../sql/rollup-texts.ts';
import { FairQueue } from './fair-queue.ts';
import { type Seam, withHotRows } from './seam.ts';

const STATEMENTS = join(projectRoot, 'query/sql');

const ALWAYS = '1';
const TIMEOUT_EXCEEDED = 159;
const MEMORY_LIMIT_EXCEEDED = 241;
const CANNOT_COMPILE_REGEXP = 427;
const PARAMETERS_MAX_BYTES = 4_194_304;
/** The store has a thread or two for each statement that runs; more would only slow each other down. */
const TURNS = { runningMax: 8, siteRunningMax: 4, waitingMax: 200, siteWaitingMax: 100 };
/** A stream takes a thread of the store for as long as its reader takes, so there are always some left for questions. */
const STREAM_QUEUE = { runningMax: 3, siteRunningMax: 2, waitingMax: 20, siteWaitingMax: 10 };

/** Conditions on the rows of a statement; our own text, with its values bound. One that is left out always holds. */
export interface Conditions {
  /** On rows of events, for `$FILTER$`. */
  readonly events?: string;
  /** On hot rows of events, for `$HOT_FILTER$`. */
  readonly hotEvents?: string;
  /** On rows of sessions, for `$SESSION_FILTER$`. */
  readonly sessions?: string;
}

/** Our own text for the places of a statement that are meant for it. */
export interface Pieces extends Conditions {
  /** Columns of rows, for `$COLUMNS$`. */
  readonly columns?: string;
  /** The rows of a nested question, for `$ROWS$`. */
  readonly rows?: string;
  /** What is made of these, for `$FIGURE$`. */
  readonly figure?: string;
  /** The table of sums, for `$SUMS$`. */
  readonly sums?: string;
}

/** The same for a statement that answers in bytes. */
export interface StreamedPieces extends Pieces {
  /** Columns of the tables, for `$SOURCES$`. */
  readonly sources: string;
  /** For `$FORMAT$`. */
  readonly format: string;
  /** For `$ORDER$`: a whole clause, or nothing. */
  readonly order: string;
  readonly settings: StoreSettings;
}

/** One of the statements whose answers make a stream, one behind the other. */
export interface StreamedStatement {
  readonly parameters: StoreParameters;
  readonly seam: Seam;
  readonly pieces: StreamedPieces;
}

/** What one statement may use up in the store. */
export interface QuestionLimits {
  readonly timeMaxMs: number;
  readonly memoryMaxBytes: number;
}

export interface HistoryOptions {
  readonly store: Pick<Store, 'query'>;
  /** For streams, which may be silent for as long as nothing is found. */
  readonly streams: Pick<Store, 'bytes'>;
  /** False when the store is known to be away: a store that hangs is then not waited for by every question anew. */
  readonly isReachable: () => boolean;
  readonly limits: QuestionLimits;
  readonly metrics: Metrics;
}

/** The store cannot be reached at all, which is when some questions are answered from memory. */
export class StoreAwayError extends RejectError {
  constructor(cause: unknown) {
    super('store-away', 'the store of history cannot be reached now', cause);
  }
}

interface Measures {
  readonly asked: Counter;
  readonly seconds: Histogram;
}

/**
 * Runs the statements of `sql/` over history and hot rows, so many at a time, each within its limits. Values come as
 * bound parameters; the statement's text is ours. Errors come as `RejectError`s that say what to do.
 */
export class History {
  readonly #store: Pick<Store, 'query'>;
  readonly #streams: Pick<Store, 'bytes'>;
  readonly #isReachable: () => boolean;
  readonly #limits: QuestionLimits;
  /** One statement for each question, by the name of its file in `sql/`. */
  readonly #texts: ReadonlyMap<string, string>;
  readonly #measures: ReadonlyMap<string, Measures>;
  readonly #turns = new FairQueue(TURNS);
  readonly #streamQueue = new FairQueue(STREAM_QUEUE);

  constructor({ store, streams, isReachable, limits, metrics }: HistoryOptions) {
    this.#store = store;
    this.#streams = streams;
    this.#isReachable = isReachable;
    this.#limits = limits;
    const questions = readdirSync(STATEMENTS)
      .filter((file) => file.endsWith('.sql'))
      .map((file) => file.replace(/\.sql$/, ''));
    this.#texts = new Map(questions.map((question) => [question, readStatement(question)]));
    this.#measures = new Map(questions.map((question) => [question, measuresOf(question, metrics)]));
  }

  /** Throws a `StoreAwayError` when the store is known to be away, before anything else is fetched in vain. */
  rejectAway(): void {
    if (!this.#isReachable()) throw new StoreAwayError(undefined);
  }

  /** The rows of an answer. Throws a `StoreAwayError` when the store was not reached. */
  async ask<Row>(
    question: string,
    parameters: StoreParameters,
    seam: Seam,
    pieces: Pieces = {},
  ): Promise<Row[]> {
    const text = this.#textOf(question, pieces);
    const measures = this.#measures.get(question);
    this.rejectAway();
    return this.#turns.take(String(parameters.site), async () => {
      const startedAt = performance.now();
      measures?.asked.add();
      try {
        const bound = { ...parameters, flushed: seam.flushed };
        const statement = withHotRows(text, seam);
        return await this.#store.query<Row>(statement, bound, this.#settings(statement.length));
      } catch (error) {
        throw this.#refusalOf(error);
      } finally {
        measures?.seconds.observe((performance.now() - startedAt) / 1000);
      }
    });
  }

  /**
   * The bytes of the answers to one question in the formats that the statements name, as the store makes them and no faster
   * than they are taken, for as long as that takes. Few run at once; see `ask` for errors.
   */
  async *stream(
    question: string,
    site: string,
    statements: readonly StreamedStatement[],
  ): AsyncGenerator<Buffer, void, void> {
    this.rejectAway();
    const end = await this.#streamQueue.begin(site);
    try {
      for (const statement of statements) yield* this.#streamOne(question, statement);
    } finally {
      end();
    }
  }

  async *#streamOne(
    question: string,
    { parameters, seam, pieces }: StreamedStatement,
  ): AsyncGenerator<Buffer, void, void> {
    const text = this.#textOf(question, pieces)
      .replaceAll('$SOURCES$', () => pieces.sources)
      .replaceAll('$ORDER$', () => pieces.order)
      .replaceAll('$FORMAT$', () => pieces.format);
    const measures = this.#measures.get(question);
    const startedAt = performance.now();
    measures?.asked.add();
    try {
      const bound = { ...parameters, flushed: seam.flushed };
      const statement = withHotRows(text, seam);
      const settings = { ...this.#settings(statement.length), ...pieces.settings, max_execution_time: 0 };
      yield* this.#streams.bytes(statement, bound, settings);
    } catch (error) {
      throw this.#refusalOf(error);
    } finally {
      measures?.seconds.observe((performance.now() - startedAt) / 1000);
    }
  }

  #textOf(
    question: string,
    {
      columns = '',
      rows = '',
      figure = '',
      sums = '',
      events = ALWAYS,
      hotEvents = ALWAYS,
      sessions = ALWAYS,
    }: Pieces,
  ): string {
    return must(this.#texts.get(question), `no statement ${question}`)
      .replaceAll('$COLUMNS$', () => columns)
      .replaceAll('$ROWS$', () => rows)
      .replaceAll('$FIGURE$', () => figure)
      .replaceAll('$SUMS$', () => sums)
      .replaceAll('$FILTER$', () => events)
      .replaceAll('$HOT_FILTER$', () => hotEvents)
      .replaceAll('$SESSION_FILTER$', () => sessions);
  }

  /** The store's own limit may be overrun where it does not look at the time; then the connection is given up. */
  #refusalOf(error: unknown): unknown {
    const isGivenUp =
      error instanceof StoreError && error.code === undefined && /timeout/i.test(error.message);
    return isGivenUp && this.#isReachable() ? tooSlow(error) : rejectOf(error);
  }

  #settings(textBytes: number): Record<string, number> {
    return {
      // Hot rows are part of the text, which is all ASCII; the bound values come on top.
      max_query_size: textBytes + PARAMETERS_MAX_BYTES,
      max_execution_time: Math.ceil(this.#limits.timeMaxMs / 1000),
      max_memory_usage: this.#limits.memoryMaxBytes,
      // Rather slow than refused: many groups, and what is sorted, go to the disk before the limit is met.
      max_bytes_before_external_group_by: Math.floor(this.#limits.memoryMaxBytes / 3),
      max_bytes_before_external_sort: Math.floor(this.#limits.memoryMaxBytes / 3),
      // A filter compares texts as numbers; by default the last digit may be wrong.
      precise_float_parsing: 1,
      // Sets of sessions are large, and sorting one to look its ids up in an index takes longer than reading the rows.
      use_index_for_in_with_subqueries: 0,
    };
  }
}

function readStatement(question: string): string {
  return withRollupTexts(readFileSync(join(STATEMENTS, `${question}.sql`), 'utf8'));
}

function measuresOf(question: string, metrics: Metrics): Measures {
  return {
    asked: metrics.counter('query_statements_total', 'statements sent to the store', { question }),
    seconds: metrics.seconds('query_statement_seconds', 'time of a statement in the store', { question }),
  };
}

/** What an error of the store means for the one who asked. */
function rejectOf(error: unknown): unknown {
  if (!(error instanceof StoreError)) return error;
  if (error.code === CANNOT_COMPILE_REGEXP)
    return new RejectError('invalid', 'filters: a regular expression cannot be read', error);
  if (error.kind !== 'retryable') return error;
  if (error.code === undefined) return new StoreAwayError(error);
  if (error.code === MEMORY_LIMIT_EXCEEDED) return memoryReject(error);
  if (error.code === TIMEOUT_EXCEEDED) return tooSlow(error);
  return new RejectError('busy', 'the store cannot answer now', error);
}

function tooSlow(error: StoreError): RejectError {
  return new RejectError('too-slow', 'the question took too long; ask for a shorter range', error);
}

/** Over its own limit a question can only be made smaller; over that of the whole store it may try again later. */
function memoryReject(error: StoreError): RejectError {
  if (/\btotal\b/i.test(error.message)) return new RejectError('busy', 'the store is short of memory', error);
  return new RejectError('too-large', 'the question needs too much memory; ask for a shorter range', error);
}
