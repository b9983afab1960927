import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Bus } from '../../infra/bus/bus.ts';
import { BusError } from '../../infra/bus/bus-error.ts';
import type { Clock } from '../../infra/clock.ts';
import { type Backoff, backoffMs } from '../../infra/concurrency/backoff.ts';
import type { Logger } from '../../infra/log.ts';
import type { Counter, Histogram, Metrics } from '../../infra/metrics.ts';
import type { CrashPoint } from '../../infra/process/crashpoint.ts';
import { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import { beginMessage, endMessage, MESSAGE_HEADER_BYTES } from '../event.ts';
import type { PublishReject } from '../request/reject.ts';

const ATTEMPT_MS = 2_000;
const RETRY: Backoff = { firstMs: 50, maxMs: 1_000 };
/**
 * Under load messages go out at this distance, all partitions in one turn: the connection then writes once for all of
 * them, and each message holds more. It costs a request some milliseconds under load, and
 * spares bus and processor a good part of their messages (bench/README.md).
 */
const PACE_MS = 5;
/** Values in the last turn, or since, that count as load. */
const LOAD_VALUES = 16;
/** Writers kept per partition: one for the message under way, one for the next. */
const SPARE_WRITERS_MAX = 2;

/** Who waits for a value to be durable. */
export interface PublishWaiter {
  /** Called once: with undefined when the value is durable, else with why it is not known to be. */
  published(reject: PublishReject | undefined): void;
}

interface Message {
  readonly writer: RowBinaryWriter;
  readonly waiters: PublishWaiter[];
  readonly deadlineMs: number;
}

interface PartitionQueue {
  readonly subject: string;
  readonly spareWriters: RowBinaryWriter[];
  /** Full messages that wait for their turn. */
  readonly full: Message[];
  /** The message that values are being added to. */
  open: Message | undefined;
  sending: boolean;
  /** Numbers the messages of this partition; never goes back, whatever becomes of a message. */
  sequence: number;
}

/** What a publisher carries, and where to. */
export interface Cargo<Value> {
  /** Events or updates of records; part of the names of metrics. */
  readonly name: 'events' | 'records';
  /** Appends one value, its length in front. */
  readonly encode: (writer: RowBinaryWriter, value: Value) => void;
  readonly bytesMax: number;
  readonly subjectOf: (partition: number) => string;
}

export interface PublisherOptions<Value> {
  readonly cargo: Cargo<Value>;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly crashPoint: (point: CrashPoint) => void;
  readonly partitions: number;
  readonly messageBytesMax: number;
  readonly inFlightBytesMax: number;
  readonly timeoutMs: number;
}

/**
 * Group commit. One message is under way per partition; values that arrive meanwhile are encoded at once into the
 * next one. Without load a value goes at the end of the event loop's turn; under load one fsync carries hundreds.
 *
 * A message is sent again, byte for byte, until the bus confirms it or its time is over. Its number is never given to
 * other bytes, so that the processor can tell a repeat for ever.
 */
export class Publisher<Value> {
  readonly #options: PublisherOptions<Value>;
  readonly #publisherId = randomBytes(8).readBigUInt64LE();
  readonly #queues: readonly PartitionQueue[];
  readonly #values: Counter;
  readonly #messages: Counter;
  readonly #retries: Counter;
  readonly #seconds: Histogram;
  #inFlightBytes = 0;
  #sendScheduled = false;
  #valuesSinceSend = 0;
  #valuesInLastSend = 0;
  #draining = false;
  /** A message's time ran out, and none was confirmed since. */
  #failing = false;
  #idle: (() => void) | undefined;

  constructor(options: PublisherOptions<Value>) {
    this.#options = options;
    this.#queues = Array.from({ length: options.partitions }, (_, partition) => ({
      subject: options.cargo.subjectOf(partition),
      spareWriters: [],
      full: [],
      open: undefined,
      sending: false,
      sequence: 0,
    }));
    const { metrics, cargo } = options;
    // Events are what a collector is there for: their series have no name of their own.
    const prefix = cargo.name === 'events' ? 'ingest' : `ingest_${cargo.name}`;
    this.#values = metrics.counter(
      `${prefix}_${cargo.name === 'events' ? 'events_' : ''}published_total`,
      `${cargo.name} that became durable`,
    );
    this.#messages = metrics.counter(
      `${prefix}_messages_published_total`,
      `groups of ${cargo.name} that became durable`,
    );
    this.#retries = metrics.counter(
      `${prefix}_publish_retries_total`,
      `messages of ${cargo.name} sent again`,
    );
    this.#seconds = metrics.seconds(
      `${prefix}_publish_seconds`,
      `time until the bus confirmed a message of ${cargo.name}`,
    );
    const bytes = () => this.#inFlightBytes;
    metrics.gaugeOf(`${prefix}_in_flight_bytes`, `bytes of ${cargo.name} that wait for the bus`, {}, bytes);
  }

  /** Why no value can be taken now; to be asked before `add`. */
  rejectReason(): PublishReject | undefined {
    if (this.#draining) return 'draining';
    if (this.#inFlightBytes >= this.#options.inFlightBytesMax) return 'in-flight';
    // A short loss is waited out; after a long one it is kinder to say so at once.
    if (this.#failing && !this.#options.bus.connected) return 'bus-away';
    return undefined;
  }

  /** Encodes `value` into its partition's next message. */
  add(partition: number, value: Value, waiter: PublishWaiter): void {
    const queue = this.#queues[partition];
    if (queue === undefined) throw new Error(`no partition ${partition}`);
    queue.open ??= this.#begin(queue);
    const { writer } = queue.open;
    const start = writer.length;
    this.#options.cargo.encode(writer, value);
    this.#inFlightBytes += writer.length - start;
    if (writer.length > this.#options.messageBytesMax && queue.open.waiters.length > 0)
      queue.open = this.#split(queue, queue.open, start);
    queue.open.waiters.push(waiter);
    this.#valuesSinceSend += 1;
    if (!queue.sending) this.#scheduleSend();
  }

  /** Resolves when every value taken so far was confirmed or given up; none is taken any more. */
  async drain(): Promise<void> {
    this.#draining = true;
    if (this.#isIdle()) return;
    await new Promise<void>((resolve) => {
      this.#idle = resolve;
    });
  }

  #begin(queue: PartitionQueue): Message {
    const nowMs = this.#options.clock.nowMs();
    // One value may be larger than a message should be; it then travels alone.
    const writer =
      queue.spareWriters.pop() ??
      new RowBinaryWriter(this.#options.messageBytesMax + 2 * this.#options.cargo.bytesMax);
    queue.sequence += 1;
    beginMessage(writer, {
      publisherId: this.#publisherId,
      publisherSequence: queue.sequence,
      sentAtMs: nowMs,
    });
    return { writer, waiters: [], deadlineMs: nowMs + this.#options.timeoutMs };
  }

  /** Moves the value that begins at `start` from a message that it made too large to the next one. */
  #split(queue: PartitionQueue, message: Message, start: number): Message {
    const next = this.#begin(queue);
    next.writer.raw(message.writer.bytes(), start);
    message.writer.truncate(start);
    queue.full.push(message);
    return next;
  }

  #scheduleSend(): void {
    if (this.#sendScheduled) return;
    this.#sendScheduled = true;
    const isLoaded = this.#valuesSinceSend >= LOAD_VALUES || this.#valuesInLastSend >= LOAD_VALUES;
    if (isLoaded) setTimeout(this.#sendAll, PACE_MS);
    else setImmediate(this.#sendAll);
  }

  readonly #sendAll = (): void => {
    this.#sendScheduled = false;
    this.#valuesInLastSend = this.#valuesSinceSend;
    this.#valuesSinceSend = 0;
    for (const queue of this.#queues) {
      const message = queue.sending ? undefined : (queue.full.shift() ?? queue.open);
      if (message === undefined) continue;
      if (message === queue.open) queue.open = undefined;
      queue.sending = true;
      void this.#send(queue, message); // Cannot reject.
    }
  };

  async #send(queue: PartitionQueue, message: Message): Promise<void> {
    endMessage(message.writer, message.waiters.length);
    const reject = await this.#publish(queue.subject, message);
    if (reject === undefined) this.#options.crashPoint('publish:before-ack');
    queue.sending = false;
    if (queue.open !== undefined || queue.full.length > 0) this.#scheduleSend();
    this.#confirm(queue, message, reject);
    if (this.#isIdle()) this.#idle?.();
  }

  async #publish(subject: string, message: Message): Promise<PublishReject | undefined> {
    const { bus, clock, timeoutMs } = this.#options;
    const startMs = performance.now();
    for (let attempt = 0; ; attempt += 1) {
      const leftMs = message.deadlineMs - clock.nowMs();
      if (leftMs <= 0) return this.#fail(subject, timeoutMs);
      try {
        await bus.publish(subject, message.writer.bytes(), Math.min(leftMs, ATTEMPT_MS));
        this.#seconds.observe((performance.now() - startMs) / 1000);
        this.#failing = false;
        return undefined;
      } catch (error) {
        if (error instanceof BusError && error.reason === 'full') return 'bus-full';
        this.#retries.add();
      }
      await wait(Math.min(leftMs, backoffMs(RETRY, attempt, Math.random())));
    }
  }

  #fail(subject: string, timeoutMs: number): PublishReject {
    if (!this.#failing) this.#options.log.error({ subject, timeoutMs }, 'the bus does not confirm; refusing');
    this.#failing = true;
    return 'bus-away';
  }

  #confirm(queue: PartitionQueue, { writer, waiters }: Message, reject: PublishReject | undefined): void {
    this.#inFlightBytes -= writer.length - MESSAGE_HEADER_BYTES;
    if (reject === undefined) {
      this.#messages.add();
      this.#values.add(waiters.length);
    }
    // Bytes that were given up may still wait in the connection's buffer: their memory must not change any more.
    if (reject !== 'bus-away' && queue.spareWriters.length < SPARE_WRITERS_MAX) {
      writer.reset();
      queue.spareWriters.push(writer);
    }
    for (let index = 0; index < waiters.length; index += 1) waiters[index]?.published(reject);
  }

  #isIdle(): boolean {
    return this.#queues.every(
      (queue) => !queue.sending && queue.open === undefined && queue.full.length === 0,
    );
  }
}
