import type { Bus } from '../../infra/bus/bus.ts';
import type { ConfirmGap, StreamMessage, StreamReader } from '../../infra/bus/stream-reader.ts';
import type { Backoff } from '../../infra/concurrency/backoff.ts';
import { Notify } from '../../infra/concurrency/notify.ts';
import { isRetryable, retry } from '../../infra/concurrency/retry.ts';
import type { Logger } from '../../infra/log.ts';
import type { Counter, Gauge } from '../../infra/metrics.ts';
import { Barrier } from './barrier.ts';
import { isFarBehind } from './far-behind.ts';

/** Backoff between retried calls of the bus and of the store. */
export const LANE_RETRY: Backoff = { firstMs: 100, maxMs: 5_000 };

const READ_WAIT_MS = 15_000;
/** Messages that were read and wait to be applied, in bytes; above it nothing is read. */
const PENDING_BYTES_MAX = 16_777_216;
/** Maximum bytes of one call of `apply`, except for its last message. Folding them takes some 10 ms. */
const APPLY_BYTES_MAX = 524_288;
/** Callers that wait for a sequence; the next one beyond it immediately gets the answer that it is not reached. */
const WAITERS_MAX = 10_000;

/** The work of a consumer on the messages of its stream. */
export interface StreamWork {
  /** Applies messages in order and calls `reached` as it proceeds. False: it stopped, and the bus retains the rest. */
  apply(messages: readonly StreamMessage[]): Promise<boolean>;
  /** True if memory takes nothing more before a flush. */
  isFull(): boolean;
  /** Time of the next flush on the clock of `performance.now()`: a system clock that is set back delays nothing. */
  flushDueMs(): number;
  /** Flushes everything that was applied to the store. `last`: the consumer stops. */
  flush(cause: 'due' | 'requested' | 'last'): Promise<void>;
}

export interface StreamConsumerOptions {
  readonly bus: Bus;
  readonly stream: string;
  /** The subject of the stream. */
  readonly subject: string;
  readonly lane: number;
  readonly log: Logger;
  readonly random: () => number;
  readonly work: StreamWork;
  readonly messagesPerRead: number;
  readonly messagesPerApply: number;
  /**
   * Two calls of `apply` begin at least this far apart, so that a busy stream comes in larger pieces. A caller of `catchUp`
   * does not wait for that.
   */
  readonly applyEveryMs: number;
  /** Throws if another owner has removed the missing messages. */
  readonly confirmGap?: ConfirmGap | undefined;
  readonly readRetries: Counter;
  readonly lagMessages: Gauge;
}

/** An operation that is retried until it succeeds or the consumer stops. */
export interface RetriedOperation {
  /** Its name in log lines. */
  readonly operation: string;
  readonly retries: Counter;
}

interface SequenceWaiter {
  readonly sequence: number;
  readonly settle: (isReached: boolean) => void;
}

interface FlushRequest {
  readonly done: Promise<void>;
  readonly finish: () => void;
}

/**
 * Processes one stream in order, and flushes the results.
 *
 *     read ─▶ pending (capped in bytes) ─▶ apply ─▶ memory ─▶ flush, when it is due, full or requested
 *
 * Reading, applying and flushing overlap, but each runs only once at a time. An error that is not retryable ends the consumer. `consume()`
 * of nats.js was rejected: it acknowledges on the server, while our position is the checkpoint.
 */
export class StreamConsumer {
  readonly #options: StreamConsumerOptions;
  readonly #barrier: Barrier;
  #reader: StreamReader | undefined;
  #current: readonly StreamMessage[] = [];
  #pending: StreamMessage[] = [];
  #pendingBytes = 0;
  #applying: Promise<void> | undefined;
  /** When messages began to wait to be applied, on the clock of `performance.now()`. */
  #busySinceMs = 0;
  #lastApplyMs = 0;
  #sequence = 0;
  /** The highest sequence that the stream is known to have. */
  #lastSequence = 0;
  readonly #waiters = new Set<SequenceWaiter>();
  #flushRequest: FlushRequest | undefined;
  #stopping = false;
  #failure: { readonly error: unknown } | undefined;
  /** Ends at the stop. */
  readonly #stop = new Notify();
  /** Wakes the flush loop. */
  readonly #flushChange = new Notify();
  /** Ends the pause before `apply`. */
  readonly #hurry = new Notify();
  /** Wakes `apply` when memory may have room again. */
  readonly #room = new Notify();

  constructor(options: StreamConsumerOptions) {
    this.#options = options;
    this.#barrier = new Barrier(options);
  }

  /** Everything up to here is applied. */
  get sequence(): number {
    return this.#sequence;
  }

  get stopping(): boolean {
    return this.#stopping;
  }

  get failed(): boolean {
    return this.#failure !== undefined;
  }

  /** Messages that were read and are not applied, or only in part. */
  get unapplied(): readonly StreamMessage[] {
    return [...this.#current, ...this.#pending];
  }

  /** True if the consumer is too far behind the stream at `nowMs` to be waited for. */
  isFarBehind(nowMs: number): boolean {
    if (this.#applying === undefined) return false;
    const next = this.#current.find(({ sequence }) => sequence > this.#sequence) ?? this.#pending[0];
    return isFarBehind(next?.bytes, performance.now() - this.#busySinceMs, nowMs);
  }

  /** Notes that everything up to `sequence` is applied. Called before `run`, it sets the start. */
  reached(sequence: number): void {
    if (sequence <= this.#sequence) return;
    this.#sequence = sequence;
    this.#noteLast(sequence);
    for (const waiter of this.#waiters) {
      if (waiter.sequence > sequence) continue;
      this.#waiters.delete(waiter);
      waiter.settle(true);
    }
  }

  /** Reads, applies and flushes until `stop` or an error. Rejects with the error. */
  async run(): Promise<void> {
    const flushing = this.#flushLoop();
    try {
      await this.#readLoop();
    } catch (error) {
      this.#fail(error);
    }
    await flushing;
    await this.#reader?.close();
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** Reads no more; `run` ends after a last flush. */
  async stop(): Promise<void> {
    this.#halt();
    await this.#reader?.close();
  }

  /** Resolves after `ms`, or at the stop. */
  sleep(ms: number): Promise<void> {
    return this.#stop.sleep(ms);
  }

  /**
   * Waits up to `maxMs` until everything on the stream now is applied; false if it is not.
   * @throws {BusError} when the bus does not give the state of the stream
   */
  async catchUp(maxMs: number): Promise<boolean> {
    const last = await this.#certainLast();
    this.#noteLast(last);
    if (this.#sequence >= last) return true;
    if (this.#stopping || this.#waiters.size >= WAITERS_MAX) return false;
    return new Promise((resolve) => {
      const settle = (isReached: boolean) => {
        clearTimeout(timer);
        resolve(isReached);
      };
      const waiter = { sequence: last, settle };
      const timer = setTimeout(() => {
        this.#waiters.delete(waiter);
        resolve(false);
      }, maxMs);
      this.#waiters.add(waiter);
      this.#hurry.wake();
    });
  }

  /** Flushes everything applied by now; resolves when that is done, or when the consumer stops before. */
  flushNow(): Promise<void> {
    if (this.#stopping) return Promise.resolve();
    this.#flushRequest ??= newFlushRequest();
    this.#flushChange.wake();
    return this.#flushRequest.done;
  }

  /** Notes that `isFull` or `flushDueMs` may have changed. */
  reconsider(): void {
    this.#flushChange.wake();
    this.#room.wake();
  }

  /** Runs `act` until it succeeds; undefined when the consumer stops before. An error that is not retryable is thrown. */
  async retry<Result>(
    { operation, retries }: RetriedOperation,
    act: () => Promise<Result>,
  ): Promise<Result | undefined> {
    if (this.#stopping) return undefined;
    const { lane, log, random } = this.#options;
    const isEnough = () => this.#stopping;
    const sleep = (ms: number) => this.sleep(ms);
    try {
      return await retry(
        { operation, retries, backoff: LANE_RETRY, log, fields: { lane }, random, sleep, isEnough },
        act,
      );
    } catch (error) {
      if (this.#stopping && isRetryable(error)) return undefined;
      throw error;
    }
  }

  async #readLoop(): Promise<void> {
    const { bus, stream, messagesPerRead, readRetries, confirmGap } = this.#options;
    const reader = bus.reader(stream, this.#sequence + 1, confirmGap);
    this.#reader = reader;
    const read = { operation: `read of stream ${stream}`, retries: readRetries };
    while (!this.#stopping) {
      try {
        await this.retry(read, () =>
          reader.read(messagesPerRead, READ_WAIT_MS, (message) => this.#take(message)),
        );
      } catch (error) {
        if (!this.#stopping) throw error;
      }
      while (this.#failure === undefined && this.#pendingBytes >= PENDING_BYTES_MAX / 2) await this.#applying;
    }
    await this.#applying;
  }

  /** Takes a message from the reader; false when it should pause. */
  #take(message: StreamMessage): boolean {
    if (this.#stopping) return false;
    this.#pending.push(message);
    this.#pendingBytes += message.bytes.length;
    this.#noteLast(message.sequence);
    if (this.#applying === undefined) this.#busySinceMs = performance.now();
    this.#applying ??= this.#applyPending();
    return this.#pendingBytes < PENDING_BYTES_MAX;
  }

  /** Applies messages that have arrived, until none has arrived meanwhile. */
  async #applyPending(): Promise<void> {
    const { work, applyEveryMs, messagesPerApply } = this.#options;
    try {
      while (this.#pending.length > 0 && this.#failure === undefined) {
        const restMs = this.#lastApplyMs + applyEveryMs - performance.now();
        if (restMs > 1 && this.#waiters.size === 0) await this.#hurry.sleep(restMs);
        while (!this.#stopping && work.isFull()) await this.#untilRoom();
        this.#lastApplyMs = performance.now();
        this.#current = this.#takeFirst(messagesPerApply);
        if (await work.apply(this.#current)) {
          if (work.isFull()) this.#flushChange.wake();
          continue;
        }
        this.#pending = []; // The consumer stops; the bus retains the rest.
        this.#pendingBytes = 0;
      }
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#current = [];
      this.#applying = undefined;
    }
  }

  /** The messages that are applied next, in one turn of the lane's thread, which also answers questions. */
  #takeFirst(messagesMax: number): readonly StreamMessage[] {
    let [count, bytes] = [0, 0];
    while (count < messagesMax && bytes < APPLY_BYTES_MAX && count < this.#pending.length) {
      bytes += this.#pending[count]?.bytes.length ?? 0;
      count += 1;
    }
    this.#pendingBytes -= bytes;
    return this.#pending.splice(0, count);
  }

  /** Waits until memory may have room, and wakes the flush loop, which makes room immediately. */
  #untilRoom(): Promise<void> {
    this.#flushChange.wake();
    return this.#room.wait();
  }

  async #flushLoop(): Promise<void> {
    const { work } = this.#options;
    try {
      for (;;) {
        const restMs = this.#isFlushForced() ? 0 : work.flushDueMs() - performance.now();
        if (!this.#stopping && restMs > 0) await this.#flushChange.sleep(restMs);
        // The last flush has the messages that were applied after the cut of the flush in progress at the stop.
        const isLast = this.#stopping;
        if (isLast) await this.#applying;
        if (this.#failure !== undefined) return;
        if (isLast || this.#isFlushForced() || work.flushDueMs() <= performance.now())
          await this.#flush(isLast);
        if (isLast) return;
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  #isFlushForced(): boolean {
    return this.#flushRequest !== undefined || this.#options.work.isFull();
  }

  async #flush(isLast: boolean): Promise<void> {
    const request = this.#flushRequest;
    this.#flushRequest = undefined;
    try {
      await this.#options.work.flush(isLast ? 'last' : request === undefined ? 'due' : 'requested');
    } finally {
      request?.finish();
      this.#room.wake();
    }
  }

  /**
   * The last sequence of the stream. In a cluster, a server that has lost the others keeps reporting an old sequence for many seconds while
   * these store messages: then a write asks the stream itself.
   */
  async #certainLast(): Promise<number> {
    const { bus, stream } = this.#options;
    const { last, isCertain } = await bus.streamBounds(stream);
    return isCertain ? last : this.#barrier.append();
  }

  #noteLast(sequence: number): void {
    this.#lastSequence = Math.max(this.#lastSequence, sequence);
    this.#options.lagMessages.set(this.#lastSequence - this.#sequence);
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#halt();
    void this.#reader?.close(); // It only stops waiting; the consumer is over either way.
  }

  #halt(): void {
    this.#stopping = true;
    this.#stop.end();
    this.#room.end();
    this.#hurry.end();
    this.#flushChange.wake();
    this.#flushRequest?.finish();
    for (const waiter of this.#waiters) waiter.settle(false);
    this.#waiters.clear();
  }
}

function newFlushRequest(): FlushRequest {
  let finish = () => {};
  const done = new Promise<void>((resolve) => {
    finish = resolve;
  });
  return { done, finish };
}
