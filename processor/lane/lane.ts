import { DecodeError } from '../../infra/bus/decode-error.ts';
import type { StreamMessage } from '../../infra/bus/stream-reader.ts';
import { Semaphore } from '../../infra/concurrency/semaphore.ts';
import type { Config } from '../../infra/config.ts';
import type { LaneLayout } from '../../infra/process/service-lanes.ts';
import { FlushRests } from '../consumer/flush-rests.ts';
import { StreamConsumer } from '../consumer/stream-consumer.ts';
import { publishDeadLetter } from '../dead-letters/dead-letter.ts';
import { type FeedDeps, LaneFeed } from '../feed/lane-feed.ts';
import { mayNameEnded } from '../fold/ended-sessions.ts';
import type { EndedByPlace } from '../fold/session-answers.ts';
import type { StateLimits } from '../fold/slice-state.ts';
import { decodeHotAnswer, encodeHotAnswer, type HotQuestion, type LivePart } from '../hot.ts';
import { COUNTED_PROFILES_MAX } from '../live-numbers.ts';
import { EventsSetAside } from './events-set-aside.ts';
import { type FlushOptions, persist, writeFlush } from './flush.ts';
import type { Checkpoint } from './lane-record.ts';
import { LiveFeed } from './live-feed.ts';
import { loadState, storedFlushNumber } from './load-state.ts';
import { OpenSessionsFeed } from './open-sessions-feed.ts';
import { completeRefused, leaveOutRefused } from './refused-flush.ts';
import { findEnded, loadEnded } from './reopen.ts';
import { settleIntent } from './settle-intent.ts';
import { type CutBatch, Slices } from './slices.ts';
import type { WorkerHandle } from './worker-handle.ts';
import type { Lag, SessionsReport } from './worker-tasks.ts';

const MESSAGES_PER_READ = 128;
/**
 * Under load messages go to the thread at this distance: a task costs the main thread as much as folding ten events
 * costs the thread, and twenty milliseconds do not show in a live number.
 */
const FOLD_PACE_MS = 20;
/** A lane without rows to flush still moves its checkpoint this often. */
const IDLE_CHECKPOINT_MS = 30_000;
const CATCH_UP_MAX_MS = 2_000;
/** Times that a question is tried while its rows exceed one message, with a flush after each but the last. */
const TOO_LARGE_TRIES = 3;

export interface LaneOptions extends Omit<FlushOptions, 'hurry' | 'feed' | 'slices'> {
  readonly config: Config;
  /** True if it is the only lane: it takes up every stored session. Otherwise it takes up only its own. */
  readonly isAlone: boolean;
  /** Number of shards of the service's store; `store` is the one that has the lane. */
  readonly storeShards: number;
  /** The threads that hold the lane's state. */
  readonly threads: readonly WorkerHandle[];
  readonly feeds: FeedDeps;
  readonly limits: StateLimits;
  readonly layout: LaneLayout;
}

/**
 * One lane from the bus to the store, for as long as this process owns it. Threads hold the state; this is everything that
 * touches the world, and the order in which it does.
 *
 *     read ─▶ fold (threads) ─▶ batch ─┬─▶ cut ─▶ intent ─▶ events ─▶ feed ─▶ sessions ─▶ checkpoint ─▶ trim
 *                                      └─▶ the next batch fills meanwhile
 */
export class Lane {
  readonly #options: LaneOptions;
  readonly #consumer: StreamConsumer;
  readonly #flushOptions: FlushOptions;
  readonly #slices: Slices;
  /**
   * One permit, for folds and cuts. Whether a flush has rows is known from the fold before it, so no fold may be in progress
   * when it is cut.
   */
  readonly #turns = new Semaphore(1);
  /** Sends the open sessions to collectors. */
  readonly openSessions: OpenSessionsFeed;
  /** Sends the number of live visitors to query nodes. */
  readonly live: LiveFeed;
  /** Work that waits for the next flush, and keeps the one after it waiting. */
  readonly #rests = new FlushRests<Checkpoint>();
  readonly #setAside: EventsSetAside;
  #batchRows = 0;
  #batchBytes = 0;
  /** The last message of the last flush that was cut. */
  #cutSequence = 0;
  #clockMs = 0;
  /** This field and the next are on the clock of `performance.now()`. */
  #lastFlushMs = 0;
  /** When a lane without rows was last looked at. */
  #lastIdleMs = 0;
  /** True while an unfinished flush is repeated: nothing else may be flushed. */
  #restoring = true;

  constructor(options: LaneOptions) {
    this.#options = options;
    const { stream, metrics, gauges, ownership } = options;
    const { division, grown } = ownership;
    this.#slices = new Slices({
      ...options,
      division,
      home: grown && { lane: options.lane, lanes: grown.lanes, storeShards: options.storeShards },
    });
    const consumer = new StreamConsumer({
      ...options,
      stream,
      messagesPerRead: MESSAGES_PER_READ,
      messagesPerApply: Number.POSITIVE_INFINITY,
      applyEveryMs: FOLD_PACE_MS,
      confirmGap: () => ownership.renew(),
      readRetries: metrics.readRetries,
      lagMessages: gauges.lagMessages,
      work: {
        apply: (messages) => this.#fold(messages),
        isFull: () => this.#isBatchFull(),
        flushDueMs: () => Math.max(this.#lastFlushMs, this.#lastIdleMs) + options.config.FLUSH_INTERVAL_MS,
        flush: (cause) => this.#flushOrIdle(cause),
      },
    });
    this.#consumer = consumer;
    this.openSessions = new OpenSessionsFeed({
      ...options,
      changes: (nowMs) => this.#slices.openSessions(nowMs),
      snapshot: () => this.#slices.openSessions(undefined),
      catchUp: (maxMs) => consumer.catchUp(maxMs),
    });
    this.live = new LiveFeed({
      ...options,
      count: (projectIds, nowMs) => this.#countLive(projectIds, nowMs),
    });
    this.#flushOptions = {
      ...options,
      slices: this.#slices,
      feed: new LaneFeed(options),
      hurry: () => (consumer.failed ? 'at once' : consumer.stopping ? 'soon' : 'no'),
    };
    this.#setAside = new EventsSetAside({ ...this.#flushOptions, layout: options.layout });
  }

  /** True once the lane stops reading. */
  get isStopping(): boolean {
    return this.#consumer.stopping;
  }

  /** Resolves after `ms`, or when the lane stops. */
  sleep(ms: number): Promise<void> {
    return this.#consumer.sleep(ms);
  }

  /** Last sequence that was folded. */
  get foldedSequence(): number {
    return this.#consumer.sequence;
  }

  /** Restores the lane's state and finishes a flush that was begun. Must end before anything else is called. */
  async restore(): Promise<void> {
    const { ownership, store, lane, log } = this.#options;
    await completeRefused(this.#flushOptions);
    for (let isComplete = false; !isComplete; ) {
      const storedNumber = await storedFlushNumber(store, lane);
      await settleIntent(this.#options, storedNumber);
      await this.#loadState();
      const { intent } = ownership;
      if (intent === null) break;
      log.info({ lane, flushNumber: intent.flushNumber }, 'repeating an unfinished flush');
      await this.#foldUpTo(intent.sequence);
      // An insert of the previous owner may still have been in flight: then the loaded state may already contain the flush.
      isComplete = (await storedFlushNumber(store, lane)) === storedNumber;
      if (isComplete) await this.#flush(intent);
      else
        log.warn({ lane, flushNumber: intent.flushNumber }, 'the flush has become complete, restoring again');
    }
    this.#lastFlushMs = performance.now();
    this.#restoring = false;
  }

  /** Restores the state of the checkpoint, replacing any other. */
  async #loadState(): Promise<void> {
    const { ownership, store, lane, isAlone, limits, bus, crashPoint, storeShards } = this.#options;
    const { checkpoint, grown } = ownership;
    const { sessionRetainMs } = limits;
    const { messageMaxBytes } = bus;
    await this.#slices.open({ checkpoint, setAside: ownership.setAside, limits, messageMaxBytes });
    this.#cutSequence = checkpoint.sequence;
    await loadState(store, this.#slices, {
      lane,
      isAlone,
      grown,
      storeShards,
      ...checkpoint,
      sessionRetainMs,
    });
    this.#batchRows = 0;
    this.#batchBytes = 0;
    this.#consumer.reached(checkpoint.sequence);
    crashPoint('lane:after-restore');
  }

  /** Reads, folds and flushes until `stop` or an error. Rejects with the error. */
  run(): Promise<void> {
    return this.#consumer.run();
  }

  /** Frees the threads' memory. Nothing may be called afterwards. */
  close(): Promise<void> {
    return this.#slices.close();
  }

  /** Stops reading, flushes everything folded, and returns. */
  stop(): Promise<void> {
    return this.#consumer.stop();
  }

  /**
   * Folds and flushes everything that the bus has now, and runs `work` with the checkpoint of that flush. No other flush begins until it is
   * over, so the store has exactly the state of the checkpoint. Messages are folded meanwhile.
   * @throws {Error} when the lane is behind or stops before
   */
  async atRest<Result>(maxMs: number, work: (checkpoint: Checkpoint) => Promise<Result>): Promise<Result> {
    if (!(await this.catchUp(maxMs))) throw new Error('the lane is behind or stops');
    return this.#rests.during(() => this.#consumer.flushNow(), work);
  }

  /** Resolves when everything that the bus has now is folded, or after `maxMs`; says whether it is folded. */
  catchUp(maxMs: number): Promise<boolean> {
    return this.#consumer.catchUp(maxMs);
  }

  /** A profile may be live on several lanes, so its id is sent unless this is the only lane. */
  async #countLive(projectIds: readonly string[], nowMs: number): Promise<readonly (LivePart | undefined)[]> {
    const { isAlone } = this.#options;
    const profilesMax = COUNTED_PROFILES_MAX[isAlone ? 'alone' : 'ofSeveral'];
    const parts = await this.#slices.live({ projectIds, nowMs, profilesMax });
    if (!isAlone) return parts;
    return parts.map((part) => part && { visitors: part.visitors + part.profiles.length, profiles: [] });
  }

  /** Answers a question from memory; for rows, after folding everything that the bus has. */
  async hot(question: HotQuestion): Promise<Uint8Array> {
    const ask = () => this.#slices.hot(question, this.#options.bus.messageMaxBytes);
    if (question.kind === 'live' || question.kind === 'live-details') return ask();
    if (!(await this.#isCaughtUp())) return encodeHotAnswer({ kind: 'unavailable', reason: 'lagging' });
    for (let attempt = 1; ; attempt += 1) {
      const answer = await ask();
      const { head } = decodeHotAnswer(answer);
      const tooLarge = head.kind === 'unavailable' && head.reason === 'too-large';
      if (!tooLarge || attempt === TOO_LARGE_TRIES || this.#consumer.stopping) return answer;
      await this.#consumer.flushNow();
    }
  }

  /**
   * Returns the session that the next event of each device will have. If it may depend on events that are acknowledged but not folded, they
   * are folded first; if on ended sessions, the store is asked, too. Undefined when the folding takes too long. While the lane is far
   * behind, for example because its memory is full and the store is unavailable, it answers immediately from memory.
   * @throws {DecodeError} when the questions cannot be read
   */
  async lookUp(questions: Uint8Array): Promise<Uint8Array | undefined> {
    this.openSessions.wake();
    const isFarBehind = this.#consumer.isFarBehind(this.#options.clock.nowMs());
    const lag = isFarBehind ? 'long' : 'short';
    let report = await this.#findSessions(questions, { lag, ended: undefined });
    if (report.kind === 'behind') {
      if (!(await this.#isCaughtUp())) return undefined;
      report = await this.#findSessions(questions, { lag: 'none', ended: undefined });
    }
    if (report.kind === 'ended') {
      const { questions: open, unflushed } = report;
      const flush = async () => (unflushed ? this.#consumer.flushNow() : undefined);
      const ended = await findEnded(this.#flushOptions, open, flush);
      if (this.#consumer.stopping) return undefined;
      report = await this.#findSessions(questions, { lag: 'none', ended });
    }
    if (report.kind === 'unreadable') throw new DecodeError(report.message, report.reason);
    return report.kind === 'answers' ? report.answers : undefined;
  }

  #findSessions(
    questions: Uint8Array,
    known: { readonly lag: Lag; readonly ended: EndedByPlace | undefined },
  ): Promise<SessionsReport> {
    return this.#slices.sessions({ questions, nowMs: this.#options.clock.nowMs(), ...known });
  }

  /** True once everything on the bus is folded within the time limit of a question; false while the bus is unavailable. */
  #isCaughtUp(): Promise<boolean> {
    return this.#consumer.catchUp(CATCH_UP_MAX_MS).catch(() => false);
  }

  #isBatchFull(): boolean {
    const { FLUSH_ROWS_MAX, FLUSH_BYTES_MAX } = this.#options.config;
    return this.#batchRows >= FLUSH_ROWS_MAX || this.#batchBytes >= FLUSH_BYTES_MAX;
  }

  /** Folds messages in their order; false when the lane stops before it has the ended sessions that they name. */
  async #fold(messages: readonly StreamMessage[]): Promise<boolean> {
    for (let rest = messages; rest.length > 0; ) {
      if (rest[0] !== undefined && mayNameEnded(rest[0].bytes) && !(await this.#loadNamed(rest)))
        return false;
      const next = rest.findIndex((message, index) => index > 0 && mayNameEnded(message.bytes));
      const { done, isErasing } = await this.#foldSome(next === -1 ? rest : rest.slice(0, next), next !== -1);
      rest = rest.slice(done);
      if (isErasing && !(await this.#flushErased())) return false;
    }
    return true;
  }

  /**
   * Loads the ended sessions that the first message names and memory lacks; those that this lane has evicted come by way of
   * a flush. False when the lane stops before.
   */
  async #loadNamed(messages: readonly StreamMessage[]): Promise<boolean> {
    for (;;) {
      const { missing, unflushed } = await this.#slices.missing(messages);
      if (missing.length === 0) return true;
      if (unflushed) {
        // A session that a flush evicts is not loaded within it, so a repeated flush never gets here.
        if (this.#restoring) throw new Error('a repeated flush names a session that it evicts itself');
        await this.#consumer.flushNow();
        if (this.#consumer.stopping) return false;
      }
      if (!(await loadEnded(this.#flushOptions, missing))) return false;
    }
  }

  /**
   * Ends a flush behind an erasure; false when the lane stops. A repeated flush ends there anyway, because the fold is
   * deterministic: an erasure is the last message of its flush.
   */
  async #flushErased(): Promise<boolean> {
    if (this.#restoring) return true;
    await this.#consumer.flushNow();
    return !this.#consumer.stopping;
  }

  /** Folds messages up to an erasure; returns how many that were. */
  #foldSome(
    messages: readonly StreamMessage[],
    keepsEnded: boolean,
  ): Promise<{ readonly done: number; readonly isErasing: boolean }> {
    return this.#turns.run(async () => {
      const { metrics, gauges } = this.#options;
      const startMs = performance.now();
      const report = await this.#slices
        .fold(messages, keepsEnded)
        .catch((error: unknown) => this.#leaveOut(error));
      metrics.foldSeconds.observe((performance.now() - startMs) / 1000);
      for (const { sequence, reason } of report.rejected) {
        const message = messages.find((candidate) => candidate.sequence === sequence);
        if (message !== undefined)
          await publishDeadLetter({ ...this.#options, stream: 'events' }, message, reason);
        metrics.deadLetters.add();
      }
      await this.#setAside.keep(messages.slice(0, report.messages));
      this.#clockMs = report.clockMs;
      if (report.events > 0 && !this.#restoring) this.openSessions.wake();
      metrics.events.add(report.events);
      metrics.repeats.add(report.repeats);
      metrics.saturatedSums.add(report.saturatedSums);
      gauges.sessions.set(report.sessions);
      gauges.inFlightRows.set(report.batchRows);
      this.#batchRows = report.batchRows;
      this.#batchBytes = report.batchBytes;
      this.#consumer.reached(messages[report.messages - 1]?.sequence ?? 0);
      return { done: report.messages, isErasing: report.isErasing };
    });
  }

  /** Leaves out the failed events of a site. The messages of a repeated flush were folded before, so a failure there has another cause. */
  #leaveOut(error: unknown): Promise<never> {
    if (this.#restoring) throw error;
    return this.#setAside.leaveOut(error, { cutSequence: this.#cutSequence, clockMs: this.#clockMs });
  }

  /** Reads and folds exactly the messages of a flush that was begun before. */
  async #foldUpTo(sequence: number): Promise<void> {
    const { bus, stream, ownership } = this.#options;
    const reader = bus.reader(stream, this.foldedSequence + 1, () => ownership.renew());
    while (this.foldedSequence < sequence) {
      if (this.#consumer.stopping) throw new Error('stopped while a flush was repeated');
      const messages: StreamMessage[] = [];
      await reader.read(MESSAGES_PER_READ, 1_000, (message) => {
        messages.push(message);
        return message.sequence < sequence && messages.length < MESSAGES_PER_READ;
      });
      await this.#fold(messages.filter((message) => message.sequence <= sequence));
    }
    await reader.close();
  }

  /** Flushes; a lane without rows does so only now and then, and otherwise renews its lease. */
  async #flushOrIdle(cause: 'due' | 'requested' | 'last'): Promise<void> {
    const { ownership } = this.#options;
    if (
      cause === 'due' &&
      this.#batchRows === 0 &&
      performance.now() - this.#lastFlushMs < IDLE_CHECKPOINT_MS
    ) {
      if (ownership.isRenewalDue) await persist(this.#flushOptions, 'lease renewal', () => ownership.renew());
      this.#lastIdleMs = performance.now();
      return;
    }
    await this.#rests.around(async () => {
      await this.#flush(undefined);
      return ownership.checkpoint;
    });
    this.#lastFlushMs = performance.now();
  }

  /** Cuts the open batch and brings it to the store. `declared` is the flush that was begun before a crash. */
  async #flush(declared: Checkpoint | undefined): Promise<void> {
    const { lane, metrics } = this.#options;
    const startMs = performance.now();
    const batch = await this.#cut(declared !== undefined);
    if (batch === undefined) {
      if (declared !== undefined) throw new Error(`lane ${lane}: a repeated flush has no messages`);
      return;
    }
    this.#consumer.reconsider();
    await writeFlush(this.#flushOptions, batch, declared !== undefined).catch((error: unknown) =>
      leaveOutRefused(this.#flushOptions, error, batch),
    );
    if (batch.hasRows) metrics.flushSeconds.observe((performance.now() - startMs) / 1000);
  }

  /** Ends the open batch. A flush that is repeated had rows. */
  #cut(isRepeat: boolean): Promise<CutBatch | undefined> {
    return this.#turns.run(async () => {
      const batch = await this.#slices
        .cut(isRepeat || this.#batchRows > 0)
        .catch((error: unknown) => this.#leaveOut(error));
      if (batch === undefined) return undefined;
      this.#cutSequence = batch.checkpoint.sequence;
      this.#batchRows = 0;
      this.#batchBytes = 0;
      return batch;
    });
  }
}
