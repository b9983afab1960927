import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { must } from '../../infra/assert.ts';
import type { Bus } from '../../infra/bus/bus.ts';
import { BusError } from '../../infra/bus/bus-error.ts';
import type { Clock } from '../../infra/clock.ts';
import { type Backoff, backoffMs } from '../../infra/concurrency/backoff.ts';
import { noteRetry } from '../../infra/concurrency/retry.ts';
import type { Logger } from '../../infra/log.ts';
import type { Counter, Histogram, Metrics } from '../../infra/metrics.ts';
import type { CrashPoint } from '../../infra/process/crashpoint.ts';
import type { LaneEnds } from '../../infra/process/lane-ends.ts';
import type { LaneLayout, LaneName, ServiceLanes } from '../../infra/process/service-lanes.ts';
import { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import { beginMessage, endMessage, MESSAGE_HEADER_BYTES } from '../event.ts';
import type { PublishReject } from '../request/reject.ts';
import { isCrowded, isDue, isLarge, type LaneQueue, type Message, type PublishWaiter } from './lane-queue.ts';
import { Room } from './room.ts';

const ATTEMPT_MS = 2_000;
const RETRY: Backoff = { firstMs: 50, maxMs: 1_000 };
/**
 * While few values wait, two messages of a lane leave at least this far apart: bus and processor spend as much on a message as
 * on some twenty events (bench/perf/README.md).
 */
const PACE_MS = 10;
/**
 * With this many waiting values, a message leaves immediately. The number applies per collector of the machine: messages with few values
 * cost bus and processor CPU time that events then lack.
 */
const UNPACED_VALUES = 32;
const UNPACED_VALUES_MAX = 128;
/** Maximum number of lost places on a bus to fill again. A stream that lacks more is another stream. */
const LOST_MAX = 1_000;
/** In front of every value. */
const VALUE_LENGTH_BYTES = 4;
/** Spare writers per lane: one for the message in flight, one for the next. */
const SPARE_WRITERS_MAX = 2;

/** The kind of values that a publisher publishes, and their subjects. */
export interface Cargo<Value> {
  /** Events or updates of entities; part of the metrics' names. */
  readonly name: 'events' | 'records';
  /** Appends one value, preceded by its length. */
  readonly encode: (writer: RowBinaryWriter, value: Value) => void;
  readonly bytesMax: number;
  readonly subjectOf: (lane: LaneName) => string;
}

export interface PublisherOptions<Value> {
  readonly cargo: Cargo<Value>;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly crashPoint: (point: CrashPoint) => void;
  readonly lanes: ServiceLanes;
  /** The ends of the old lanes, when the service has grown. */
  readonly ends: Pick<LaneEnds, 'lastSequenceOf'>;
  /** Processes that publish beside each other on this machine. */
  readonly collectors: number;
  readonly messageBytesMax: number;
  readonly inFlightBytesMax: number;
  readonly timeoutMs: number;
  /** True if the disk of the bus is full. */
  readonly isDiskFull: () => boolean;
}

/**
 * Group commit. Each lane has one message in flight. Values that arrive meanwhile are encoded into the next message,
 * which leaves as soon as the first is durable. Without load, a value is sent at the end of the event loop's iteration;
 * under load, one fsync covers hundreds; in between, messages keep a small distance.
 *
 * A message is sent again, byte for byte, until the bus confirms it or its time runs out. Its number is never used for
 * other bytes, so the processor always recognizes a repeat.
 */
export class Publisher<Value> {
  readonly #options: PublisherOptions<Value>;
  readonly #publisherId = randomBytes(8).readBigUInt64LE();
  #queues: readonly LaneQueue[];
  /** The lanes have changed: nothing is sent until every message is in a queue of the new ones. */
  #isMoving = false;
  readonly #unlisten: () => void;
  readonly #values: Counter;
  readonly #messages: Counter;
  readonly #retries: Counter;
  readonly #lost: Counter;
  readonly #rests: Counter;
  readonly #seconds: Histogram;
  readonly #unpacedValues: number;
  #inFlightBytes = 0;
  #sendScheduled = false;
  /** Sends what waits for its distance. */
  #pacing: NodeJS.Timeout | undefined;
  #draining = false;
  /** A message ran out of time, and none has been confirmed since. */
  #failing = false;
  #idle: (() => void) | undefined;

  constructor(options: PublisherOptions<Value>) {
    this.#options = options;
    this.#queues = this.#queuesAfter([]);
    this.#unlisten = options.lanes.onChange(() => this.#moveSoon());
    this.#unpacedValues = Math.min(UNPACED_VALUES * options.collectors, UNPACED_VALUES_MAX);
    const { metrics, cargo } = options;
    const content = cargo.name === 'events' ? 'events' : 'entity updates';
    // Events are the collector's main output, so their metrics carry no extra name.
    const prefix = cargo.name === 'events' ? 'ingest' : `ingest_${cargo.name}`;
    this.#values = metrics.counter(
      `${prefix}_${cargo.name === 'events' ? 'events_' : ''}published_total`,
      `${content} stored durably`,
    );
    this.#messages = metrics.counter(
      `${prefix}_messages_published_total`,
      `messages of ${content} stored durably`,
    );
    this.#retries = metrics.counter(`${prefix}_publish_retries_total`, `messages of ${content} sent again`);
    this.#lost = metrics.counter(
      `${prefix}_bus_losses_total`,
      `times that the bus has lost messages of ${content} that it had confirmed`,
    );
    this.#rests = metrics.counter(
      `${prefix}_rests_total`,
      `times that large requests rested behind a large message of ${content}, because small ones came as well`,
    );
    this.#seconds = metrics.seconds(
      `${prefix}_publish_seconds`,
      `time until the bus confirmed a message of ${content}`,
    );
    const [name, help] = [`${prefix}_in_flight_bytes`, `bytes of ${content} that wait for the bus`];
    metrics.gaugeOf(name, help, {}, () => this.#inFlightBytes);
  }

  /** Holds the rest of a large request while a lane is crowded. */
  readonly room = new Room(() => this.#queues.some(isCrowded));

  /** The layout that decides the lane of a value (`laneHashOf`). */
  get layout(): LaneLayout {
    return this.#options.lanes.layout;
  }

  /** Returns why no value can be accepted now. Check it before `add`. */
  rejectReason(): PublishReject | undefined {
    if (this.#draining) return 'draining';
    if (this.#options.isDiskFull()) return 'disk-full';
    if (this.#inFlightBytes >= this.#options.inFlightBytesMax) return 'in-flight';
    // A short outage is waited out. During a long one, callers get an error immediately.
    if (this.#failing && !this.#options.bus.connected) return 'bus-away';
    return undefined;
  }

  /** Encodes `value` into the next message of its lane, which follows from `hash` (`laneHashOf`). */
  add(hash: number, value: Value, waiter: PublishWaiter): void {
    const queue = this.#queueOf(hash);
    queue.open ??= this.#begin(queue);
    const { writer } = queue.open;
    const start = writer.length;
    this.#options.cargo.encode(writer, value);
    this.#inFlightBytes += writer.length - start;
    if (writer.length > this.#options.messageBytesMax && queue.open.waiters.length > 0)
      queue.open = this.#split(queue, queue.open, start);
    queue.open.waiters.push(waiter);
    queue.open.hashes.push(hash);
    if (!queue.sending) this.#scheduleSend(queue);
  }

  /**
   * Sends messages that have waited for long in this turn of the event loop. A turn in which requests keep arriving may last for seconds,
   * and a message sent at its end would wait for as long.
   */
  publishDue(): void {
    for (const queue of this.#queues) if (!queue.sending && isDue(queue.open)) this.#sendNext(queue);
  }

  /** Resolves when every accepted value was confirmed or given up. From now on no value is accepted. */
  async drain(): Promise<void> {
    this.#draining = true;
    if (this.#isIdle()) return this.#unlisten();
    await new Promise<void>((resolve) => {
      this.#idle = resolve;
    });
    this.#unlisten();
  }

  #queueOf(hash: number): LaneQueue {
    return must(this.#queues[hash % this.#queues.length], 'every value has a lane');
  }

  /** The queues of the service's current lanes. Each continues the message numbers of its lane's previous queue. */
  #queuesAfter(before: readonly LaneQueue[]): readonly LaneQueue[] {
    const { lanes, cargo } = this.#options;
    return Array.from({ length: lanes.count }, (_, lane) => ({
      lane: lanes.nameOf(lane),
      subject: cargo.subjectOf(lanes.nameOf(lane)),
      spareWriters: [],
      full: [],
      open: undefined,
      sending: false,
      unsettled: undefined,
      sentMs: Number.NEGATIVE_INFINITY,
      storedAt: 0,
      sequence: before[lane]?.sequence ?? 0,
    }));
  }

  #begin(queue: LaneQueue, begunMs = performance.now()): Message {
    const { clock } = this.#options;
    // A single value may exceed the message limit; it then has a message of its own.
    const writer =
      queue.spareWriters.pop() ??
      new RowBinaryWriter(this.#options.messageBytesMax + 2 * this.#options.cargo.bytesMax);
    queue.sequence += 1;
    beginMessage(writer, {
      publisherId: this.#publisherId,
      publisherSequence: queue.sequence,
      sentAtMs: clock.nowMs(),
    });
    return { writer, sequence: queue.sequence, waiters: [], hashes: [], begunMs };
  }

  /** Moves the value that begins at `start` from a message that it made too large to the next one. */
  #split(queue: LaneQueue, message: Message, start: number): Message {
    const next = this.#begin(queue);
    next.writer.raw(message.writer.bytes(), start);
    message.writer.truncate(start);
    queue.full.push(message);
    return next;
  }

  #scheduleSend(queue: LaneQueue): void {
    if (this.#isMoving) return;
    const { full, open, sentMs } = queue;
    if (full.length > 0 || isDue(open)) {
      // It gains nothing from the end of this turn of the event loop, which may be far while much arrives.
      this.#sendNext(queue);
      return;
    }
    if (this.#sendScheduled) return;
    const isLarge = (open?.waiters.length ?? 0) >= this.#unpacedValues;
    if (!isLarge && this.#pacing !== undefined) return;
    const restMs = isLarge ? 0 : sentMs + PACE_MS - performance.now();
    if (restMs > 0) {
      this.#pacing = setTimeout(this.#sendAll, restMs);
      return;
    }
    this.#sendScheduled = true;
    setImmediate(this.#sendAll);
  }

  readonly #sendAll = (): void => {
    this.#sendScheduled = false;
    clearTimeout(this.#pacing);
    this.#pacing = undefined;
    for (const queue of this.#queues) this.#sendNext(queue);
  };

  #sendNext(queue: LaneQueue): void {
    const message = queue.sending || this.#isMoving ? undefined : (queue.full.shift() ?? queue.open);
    if (message === undefined) return;
    if (message === queue.open) queue.open = undefined;
    queue.sending = true;
    queue.sentMs = performance.now();
    this.room.check();
    void this.#send(queue, message); // Cannot reject.
  }

  async #send(queue: LaneQueue, message: Message): Promise<void> {
    endMessage(message.writer, message.waiters.length);
    const reject = await this.#publish(queue, message);
    queue.sending = false;
    if (reject === 'moved') {
      queue.unsettled = message;
      this.#moveIfQuiet();
      return;
    }
    if (reject === undefined) this.#options.crashPoint('publish:before-ack');
    if (queue.open !== undefined || queue.full.length > 0) this.#scheduleSend(queue);
    this.#finish(queue, message, reject);
    this.#moveIfQuiet();
    if (this.#isIdle()) this.#idle?.();
  }

  /** `moved`: its lane has ended meanwhile. */
  async #publish(queue: LaneQueue, message: Message): Promise<PublishReject | 'moved' | undefined> {
    const { subject } = queue;
    const { bus, timeoutMs } = this.#options;
    const startMs = performance.now();
    for (let attempt = 0; ; attempt += 1) {
      const leftMs = message.begunMs + timeoutMs - performance.now();
      if (leftMs <= 0) return this.#fail(subject, timeoutMs);
      try {
        const sequence = await bus.publish(subject, message.writer.bytes(), Math.min(leftMs, ATTEMPT_MS));
        if (this.#isTaken(queue, sequence)) continue;
        const tookMs = performance.now() - startMs;
        this.#seconds.observe(tookMs / 1000);
        if (isLarge(message) && this.room.confirmed(tookMs)) this.#rests.add();
        this.#failing = false;
        return undefined;
      } catch (error) {
        if (this.#isMoving) return 'moved';
        if (error instanceof BusError && error.reason === 'full') return 'bus-full';
        const { log } = this.#options;
        const fields = { subject };
        noteRetry({ operation: 'publish', log, fields, retries: this.#retries }, attempt, error);
      }
      await wait(Math.min(leftMs, backoffMs(RETRY, attempt, Math.random())));
      if (this.#isMoving) return 'moved';
    }
  }

  /** The lanes have changed. Messages in flight are waited for; everything else waits. */
  #moveSoon(): void {
    const { lanes } = this.#options;
    if (lanes.count === this.#queues.length || this.#isMoving) return;
    this.#isMoving = true;
    this.#moveIfQuiet();
  }

  #moveIfQuiet(): void {
    if (this.#isMoving && this.#queues.every(({ sending }) => !sending)) void this.#move(); // Handles its own failures.
  }

  /**
   * Moves every value to the queue of its new lane, in order of arrival. The old lanes take nothing any more. Their
   * ends show whether they took the last message sent to each.
   */
  async #move(): Promise<void> {
    const before = this.#queues;
    const lastSequences = await Promise.all(before.map((queue) => this.#lastSequenceOf(queue)));
    this.#queues = this.#queuesAfter(before);
    this.#isMoving = false;
    for (const [lane, queue] of before.entries()) {
      const { unsettled, full, open } = queue;
      const last = lastSequences[lane];
      for (const message of [unsettled, ...full, open]) {
        if (message === undefined) continue;
        const isUnknown = message === unsettled && last === undefined;
        if (isUnknown) this.#finish(queue, message, 'bus-away');
        else if (message.sequence <= (last ?? 0)) this.#finish(queue, message, undefined);
        else this.#moveValues(message);
      }
    }
    if (this.#options.lanes.count !== this.#queues.length) this.#moveSoon();
    else for (const queue of this.#queues) this.#scheduleSend(queue);
    if (this.#isIdle()) this.#idle?.();
  }

  /** The number of the last message that the queue's lane took. Needed only while a message is unsettled. */
  #lastSequenceOf({ lane, unsettled }: LaneQueue): Promise<number | undefined> | number {
    const { ends, cargo } = this.#options;
    return unsettled === undefined ? 0 : ends.lastSequenceOf(lane, cargo.name, this.#publisherId);
  }

  #moveValues({ writer, waiters, hashes, begunMs }: Message): void {
    const bytes = writer.bytes();
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let start = MESSAGE_HEADER_BYTES;
    for (const [index, waiter] of waiters.entries()) {
      const end = start + VALUE_LENGTH_BYTES + view.getUint32(start, true);
      const hash = must(hashes[index], 'every value has a hash');
      const queue = this.#queueOf(hash);
      const isFull = (queue.open?.writer.length ?? 0) + end - start > this.#options.messageBytesMax;
      if (queue.open !== undefined && isFull && queue.open.waiters.length > 0) {
        queue.full.push(queue.open);
        queue.open = undefined;
      }
      queue.open ??= this.#begin(queue, begunMs);
      queue.open.writer.raw(bytes, start, end);
      queue.open.waiters.push(waiter);
      queue.open.hashes.push(hash);
      start = end;
    }
  }

  /**
   * True if the bus stored a message at a sequence that it had already confirmed for another message. Messages of a
   * lane follow each other, so the bus has lost everything confirmed from there on, like a cluster after electing a leader that
   * is behind. The lane may have read past this sequence and would never read the message. So it is sent again until
   * its sequence is beyond the lost ones; the lane counts duplicates once.
   */
  #isTaken(queue: LaneQueue, sequence: number): boolean {
    const { subject, storedAt } = queue;
    queue.storedAt = Math.max(storedAt, sequence);
    if (sequence > storedAt) return false;
    this.#lost.add();
    const { log } = this.#options;
    log.error({ subject, sequence, storedAt }, 'the bus has lost messages that it had confirmed');
    if (storedAt - sequence <= LOST_MAX) return true;
    // The stream was created again, and its lane starts again, too.
    queue.storedAt = sequence;
    return false;
  }

  #fail(subject: string, timeoutMs: number): PublishReject {
    if (!this.#failing) this.#options.log.error({ subject, timeoutMs }, 'the bus confirms no messages');
    this.#failing = true;
    return 'bus-away';
  }

  #finish(queue: LaneQueue, { writer, waiters }: Message, reject: PublishReject | undefined): void {
    this.#inFlightBytes -= writer.length - MESSAGE_HEADER_BYTES;
    if (reject === undefined) {
      this.#messages.add();
      this.#values.add(waiters.length);
    }
    // A message that was given up may still lie in the connection's buffer, so its memory must not be reused.
    if (reject !== 'bus-away' && queue.spareWriters.length < SPARE_WRITERS_MAX) {
      writer.reset();
      queue.spareWriters.push(writer);
    }
    for (let index = 0; index < waiters.length; index += 1) waiters[index]?.published(reject);
  }

  #isIdle(): boolean {
    return this.#queues.every(
      ({ sending, unsettled, open, full }) =>
        !sending && unsettled === undefined && open === undefined && full.length === 0,
    );
  }
}
