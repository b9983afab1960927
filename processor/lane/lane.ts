import { BusError } from '../../infra/bus/bus-error.ts';
import { DecodeError } from '../../infra/bus/decode-error.ts';
import type { StreamMessage, StreamReader } from '../../infra/bus/stream-reader.ts';
import { backoffMs } from '../../infra/concurrency/backoff.ts';
import { Notify } from '../../infra/concurrency/notify.ts';
import type { Config } from '../../infra/config.ts';
import { streamOf } from '../../ingest/event.ts';
import { publishDeadLetter } from '../dead-letters/dead-letter.ts';
import { type FeedDeps, PartitionFeed } from '../feed/partition-feed.ts';
import type { PartitionLimits } from '../fold/partition.ts';
import type { EndedByPlace } from '../fold/session-answers.ts';
import { decodeHotAnswer, encodeHotAnswer, type HotQuestion } from '../hot.ts';
import { type FlushOptions, persist, RETRY_BACKOFF, writeFlush } from './flush.ts';
import type { Checkpoint } from './lane-record.ts';
import { loadState, storedFlushNumber } from './load-state.ts';
import { findEnded, loadEnded } from './reopen.ts';
import type { FoldReport, SessionsReport } from './worker-tasks.ts';

const READ_MESSAGES = 128;
const READ_WAIT_MS = 15_000;
/**
 * Under load messages go to the thread at this distance: a task costs the main thread as much as folding ten events
 * costs the thread, and nobody sees five milliseconds in a live number.
 */
const FOLD_PACE_MS = 5;
/** Messages between the bus and the thread; above it the lane reads no further. */
const PENDING_BYTES_MAX = 16_777_216;
/** A partition without rows to flush still moves its checkpoint this often. */
const IDLE_CHECKPOINT_MS = 30_000;
const CATCH_UP_MAX_MS = 2_000;
/** Flushes that a question for more rows than fit a message waits for. */
const TOO_LARGE_TRIES = 3;
const STOPPING = 'the lane is stopping';

export interface LaneOptions extends Omit<FlushOptions, 'hurry' | 'feed'> {
  readonly config: Config;
  readonly feeds: FeedDeps;
  readonly limits: PartitionLimits;
}

/** Somebody who waits for a sequence to be folded. */
interface FoldWaiter {
  readonly sequence: number;
  /** With an error when the lane is over. */
  readonly settle: (error: unknown) => void;
}

/**
 * One partition from the bus to the store, for as long as this process owns it. The thread holds the state; this is
 * everything that touches the world, and the order in which it does.
 *
 *     read ─▶ fold (thread) ─▶ batch ─┬─▶ cut ─▶ intent ─▶ events ─▶ feed ─▶ sessions ─▶ checkpoint ─▶ forget
 *                                     └─▶ the next batch fills meanwhile
 */
export class Lane {
  readonly #options: LaneOptions;
  #reader: StreamReader | undefined;
  #pending: StreamMessage[] = [];
  #pendingBytes = 0;
  #folding: Promise<void> | undefined;
  #flushing: Promise<void> | undefined;
  #foldedSequence = 0;
  #lastFoldMs = 0;
  #batchRows = 0;
  #batchBytes = 0;
  #lastFlushMs = 0;
  /** Doing again what a flush before held: nothing else is to be flushed meanwhile. */
  #restoring = true;
  #stopping = false;
  #flushRequested = false;
  #failure: unknown;
  /** Waits, unless something needs the lane sooner. */
  readonly #notify = new Notify();
  #foldWaiters: FoldWaiter[] = [];

  readonly #flushOptions: FlushOptions;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#flushOptions = {
      ...options,
      feed: new PartitionFeed(options),
      hurry: () => (this.#failure !== undefined ? 'at once' : this.#stopping ? 'soon' : 'no'),
    };
  }

  /** Last sequence that was folded. */
  get foldedSequence(): number {
    return this.#foldedSequence;
  }

  /** Puts the partition's state back and finishes a flush that was begun. Must end before anything else is called. */
  async restore(): Promise<void> {
    const { ownership, store, worker, partition, limits, bus, crashPoint, log } = this.#options;
    const storedNumber = await storedFlushNumber(store, partition);
    await this.#settleIntent(storedNumber);
    const { checkpoint, intent } = ownership;
    await worker.open({ partition, checkpoint, limits, messageMaxBytes: bus.messageMaxBytes });
    await loadState(store, worker, { partition, ...checkpoint, sessionRetainMs: limits.sessionRetainMs });
    this.#foldedSequence = checkpoint.sequence;
    crashPoint('lane:after-restore');
    if (intent !== null) {
      log.info({ partition, flushNumber: intent.flushNumber }, 'lane: doing an unfinished flush again');
      await this.#foldUpTo(intent.sequence);
      await this.#flush(intent);
    }
    this.#lastFlushMs = this.#options.clock.nowMs();
    this.#restoring = false;
  }

  /** Reads, folds and flushes until `stop` or an error. Rejects with what stopped it. */
  async run(): Promise<void> {
    const flushing = this.#flushLoop();
    try {
      await this.#readLoop();
    } catch (error) {
      this.#fail(error);
    }
    await flushing;
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Resolves when everything that the bus has now is folded; rejects when that takes too long. */
  async catchUp(maxMs: number = CATCH_UP_MAX_MS): Promise<void> {
    const { last } = await this.#options.bus.streamBounds(streamOf(this.#options.partition));
    this.#options.gauges.lagMessages.set(Math.max(0, last - this.#foldedSequence));
    if (this.#foldedSequence >= last) return;
    if (this.#stopping) throw new Error(STOPPING);
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('the lane is behind')), maxMs);
      const settle = (error: unknown) => {
        clearTimeout(timer);
        if (error === undefined) resolve();
        else reject(error);
      };
      this.#foldWaiters.push({ sequence: last, settle });
    });
  }

  /** Answers a question about what is in memory; for rows, after folding all that the bus has. */
  async hot(question: HotQuestion): Promise<Uint8Array> {
    const { worker, partition } = this.#options;
    if (question.kind === 'live' || question.kind === 'live-details') return worker.hot(partition, question);
    try {
      await this.catchUp();
    } catch {
      return encodeHotAnswer({ kind: 'unavailable', reason: 'lagging' });
    }
    for (let attempt = 1; ; attempt += 1) {
      const answer = await worker.hot(partition, question);
      const { head } = decodeHotAnswer(answer);
      const tooLarge = head.kind === 'unavailable' && head.reason === 'too-large';
      if (!tooLarge || attempt === TOO_LARGE_TRIES || this.#stopping) return answer;
      await this.#flushNow();
    }
  }

  /**
   * Says which session an event of each device will have. Where that may depend on events that are acknowledged and
   * not folded, it folds them first; where on sessions that have ended, it asks the store too. Undefined when the
   * folding takes too long.
   * @throws {DecodeError} when the questions cannot be read
   */
  async lookUp(questions: Uint8Array): Promise<Uint8Array | undefined> {
    let report = await this.#findSessions(questions, { caughtUp: false, ended: undefined });
    if (report.kind === 'behind') {
      try {
        await this.catchUp();
      } catch {
        return undefined;
      }
      report = await this.#findSessions(questions, { caughtUp: true, ended: undefined });
    }
    if (report.kind === 'ended') {
      const { questions: asked, unflushed } = report;
      const flush = async () => (unflushed ? this.#flushNow() : undefined);
      const ended = await findEnded(this.#flushOptions, asked, flush);
      if (this.#stopping) return undefined;
      report = await this.#findSessions(questions, { caughtUp: true, ended });
    }
    if (report.kind === 'unreadable') throw new DecodeError(report.message, report.reason);
    return report.kind === 'answers' ? report.answers : undefined;
  }

  #findSessions(
    questions: Uint8Array,
    known: { readonly caughtUp: boolean; readonly ended: EndedByPlace | undefined },
  ): Promise<SessionsReport> {
    const { worker, partition, clock } = this.#options;
    return worker.sessions(partition, { questions, nowMs: clock.nowMs(), ...known });
  }

  /** Reads no more, flushes what was folded, and returns. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#notify.wake();
    this.#settleWaiters(new Error(STOPPING));
    await this.#reader?.close();
  }

  /**
   * Brings record and store together before anything is restored. A flush whose sessions are in the store is complete,
   * since they come last; a store that is ahead by more than the declared flush means that the bus has forgotten.
   */
  async #settleIntent(storedNumber: number): Promise<void> {
    const { ownership, partition, log } = this.#options;
    const { checkpoint, intent } = ownership;
    if (intent !== null && storedNumber === intent.flushNumber) {
      await ownership.complete(intent);
    } else if (storedNumber > checkpoint.flushNumber) {
      if (checkpoint.sequence !== 0 || intent !== null) {
        throw new Error(
          `partition ${partition}: the store has flush ${storedNumber}, the bus knows of ${checkpoint.flushNumber}`,
        );
      }
      // A new bus in front of an old store: go on counting where the store stands.
      log.warn(
        { partition, flushNumber: storedNumber },
        'lane: the bus is new, the store is not; going on from it',
      );
      await ownership.complete({
        ...checkpoint,
        flushNumber: storedNumber,
        clockMs: this.#options.clock.nowMs(),
      });
    } else if (storedNumber < checkpoint.flushNumber) {
      log.error(
        { partition, stored: storedNumber, flushNumber: checkpoint.flushNumber },
        'lane: the store has lost flushes that were complete; going on without them',
      );
    }
  }

  async #readLoop(): Promise<void> {
    for (let attempt = 0; !this.#stopping; ) {
      const reader = this.#openReader();
      try {
        await reader.read(READ_MESSAGES, READ_WAIT_MS, (message) => this.#take(message));
        attempt = 0;
      } catch (error) {
        if (this.#stopping) break;
        if (!(error instanceof BusError) || !error.retryable) throw error;
        await this.#notify.sleep(backoffMs(RETRY_BACKOFF, attempt, this.#options.random()));
        attempt += 1;
      }
      await this.#room();
      if (this.#failure !== undefined) return;
    }
    await this.#folding;
  }

  #openReader(): StreamReader {
    const { bus, partition } = this.#options;
    this.#reader ??= bus.reader(streamOf(partition), this.#foldedSequence + 1);
    return this.#reader;
  }

  /** Takes a message from the reader; false when it should pause. */
  #take(message: StreamMessage): boolean {
    if (this.#stopping) return false;
    this.#pending.push(message);
    this.#pendingBytes += message.bytes.length;
    this.#folding ??= this.#foldPending();
    return this.#failure === undefined && this.#pendingBytes < PENDING_BYTES_MAX;
  }

  /** Waits while the thread or the store is behind: what is in memory has a cap. */
  async #room(): Promise<void> {
    while (this.#failure === undefined && this.#pendingBytes >= PENDING_BYTES_MAX / 2) await this.#folding;
    while (this.#failure === undefined && !this.#stopping && this.#batchFull()) {
      await (this.#flushing ?? this.#notify.sleep(20));
    }
  }

  /** Ends the open batch early; resolves after the flush that brings it. */
  async #flushNow(): Promise<void> {
    await this.#flushing;
    this.#flushRequested = true;
    this.#notify.wake();
    while (this.#flushRequested && !this.#stopping) await new Promise((resolve) => setTimeout(resolve, 5));
    await this.#flushing;
  }

  #batchFull(): boolean {
    if (this.#flushRequested) return true;
    const { FLUSH_ROWS_MAX, FLUSH_BYTES_MAX } = this.#options.config;
    return this.#batchRows >= FLUSH_ROWS_MAX || this.#batchBytes >= FLUSH_BYTES_MAX;
  }

  /** Folds what has arrived, again and again until nothing has arrived meanwhile. */
  async #foldPending(): Promise<void> {
    try {
      while (this.#pending.length > 0 && this.#failure === undefined) {
        const restMs = this.#lastFoldMs + FOLD_PACE_MS - performance.now();
        if (restMs > 1) await new Promise((resolve) => setTimeout(resolve, restMs));
        const messages = this.#pending;
        this.#pending = [];
        this.#pendingBytes = 0;
        this.#lastFoldMs = performance.now();
        if (await this.#fold(messages)) continue;
        this.#pending = []; // The lane stops; the bus keeps what is not folded.
        this.#pendingBytes = 0;
      }
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#folding = undefined;
    }
  }

  /** Folds messages in their order; false when the lane stops before it has the ended sessions that they name. */
  async #fold(messages: readonly StreamMessage[]): Promise<boolean> {
    for (let rest = messages; rest.length > 0; ) {
      const report = await this.#foldSome(rest);
      rest = rest.slice(report.messages);
      if ((report.isErasing || report.unflushed) && !(await this.#flushHere(report))) return false;
      if (report.missing.length === 0) continue;
      if (!(await loadEnded(this.#flushOptions, report.missing))) return false;
    }
    return true;
  }

  /** Ends a flush behind what was forgotten, or in front of what is to be loaded from it. False when the lane stops. */
  async #flushHere({ isErasing }: FoldReport): Promise<boolean> {
    // A flush that is done again ends where it ended at first: the same state says the same. So nothing follows a message
    // that told to forget, and what the flush lets go itself is not wanted in it.
    if (this.#restoring && isErasing) return true;
    if (this.#restoring) throw new Error('a flush that is done again wants what it lets go itself');
    await this.#flushNow();
    return !this.#stopping;
  }

  async #foldSome(messages: readonly StreamMessage[]): Promise<FoldReport> {
    const { worker, partition, metrics, gauges } = this.#options;
    const startMs = performance.now();
    const report = await worker.fold(partition, messages);
    metrics.foldSeconds.observe((performance.now() - startMs) / 1000);
    for (const { sequence, reason } of report.refused) {
      const message = messages.find((candidate) => candidate.sequence === sequence);
      if (message !== undefined)
        await publishDeadLetter({ ...this.#options, stream: 'events' }, message, reason);
      metrics.deadLetters.add();
    }
    metrics.events.add(report.events);
    metrics.repeats.add(report.repeats);
    gauges.sessions.set(report.sessions);
    gauges.inFlightRows.set(report.batchRows);
    this.#batchRows = report.batchRows;
    this.#batchBytes = report.batchBytes;
    this.#foldedSequence = messages[report.messages - 1]?.sequence ?? this.#foldedSequence;
    this.#foldWaiters = this.#foldWaiters.filter((waiter) => {
      if (waiter.sequence > this.#foldedSequence) return true;
      waiter.settle(undefined);
      return false;
    });
    if (this.#batchFull()) this.#notify.wake();
    return report;
  }

  /** Reads and folds exactly the messages of a flush that was begun before. */
  async #foldUpTo(sequence: number): Promise<void> {
    const { bus, partition } = this.#options;
    const reader = bus.reader(streamOf(partition), this.#foldedSequence + 1);
    while (this.#foldedSequence < sequence) {
      if (this.#stopping) throw new Error('stopped while a flush was done again');
      const messages: StreamMessage[] = [];
      await reader.read(READ_MESSAGES, 1_000, (message) => {
        messages.push(message);
        return message.sequence < sequence && messages.length < READ_MESSAGES;
      });
      await this.#fold(messages.filter((message) => message.sequence <= sequence));
    }
    await reader.close();
  }

  async #flushLoop(): Promise<void> {
    const { config, clock } = this.#options;
    try {
      for (;;) {
        const dueMs = this.#lastFlushMs + config.FLUSH_INTERVAL_MS - clock.nowMs();
        if (!this.#stopping && !this.#batchFull() && dueMs > 0) await this.#notify.sleep(dueMs);
        if (this.#failure !== undefined) return;
        const isLast = this.#stopping;
        if (isLast) await this.#folding;
        await this.#flushOnce();
        // A flush that was under way at the stop does not hold what was folded meanwhile.
        if (isLast) return;
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  async #flushOnce(): Promise<void> {
    const { clock, ownership, config } = this.#options;
    const idle = this.#batchRows === 0 && !this.#flushRequested;
    const idleMs = clock.nowMs() - this.#lastFlushMs;
    if (idle && !this.#stopping && idleMs < IDLE_CHECKPOINT_MS) {
      if (ownership.leaseUntilMs - clock.nowMs() < (config.LEASE_MS * 2) / 3) {
        await persist(this.#flushOptions, () => ownership.renew());
      }
      await this.#notify.sleep(config.FLUSH_INTERVAL_MS);
      return;
    }
    this.#flushRequested = false;
    this.#flushing = this.#flush(undefined);
    await this.#flushing.finally(() => {
      this.#flushing = undefined;
    });
    this.#lastFlushMs = clock.nowMs();
  }

  /** Cuts the open batch and brings it to the store. `declared` is the flush that was begun before a crash. */
  async #flush(declared: Checkpoint | undefined): Promise<void> {
    const { worker, partition } = this.#options;
    const startMs = performance.now();
    const batch = await worker.cut(partition);
    if (batch === undefined) {
      if (declared !== undefined)
        throw new Error(`partition ${partition}: the flush to do again has no messages`);
      return;
    }
    this.#batchRows = 0;
    this.#batchBytes = 0;
    await writeFlush(this.#flushOptions, batch, declared !== undefined);
    if (batch.hasRows) this.#options.metrics.flushSeconds.observe((performance.now() - startMs) / 1000);
  }

  #settleWaiters(error: unknown): void {
    for (const waiter of this.#foldWaiters) waiter.settle(error);
    this.#foldWaiters = [];
  }

  #fail(error: unknown): void {
    this.#failure ??= error;
    this.#stopping = true;
    this.#notify.wake();
    this.#settleWaiters(error);
    void this.#reader?.close(); // It only stops waiting; the lane is over either way.
  }
}
