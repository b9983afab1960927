import {
  AckPolicy,
  type Consumer,
  type ConsumerMessages,
  DeliverPolicy,
  type JetStreamClient,
  type JetStreamManager,
  nanos,
  ReplayPolicy,
} from 'nats';
import { busError, isAbsent, StreamGapError } from './bus-error.ts';
import type { BusFaults } from './bus-faults.ts';
import { firstAnswer } from './first-answer.ts';

const CONSUMER_IDLE_MS = 300_000;
/**
 * A server of a cluster waits for at least four seconds before it asks for election (nats-server, `raft.go`), and hears from its leader
 * every second.
 */
const LEADER_CERTAIN_MS = 3_000;

/** A message of a stream: its sequence in that stream and its bytes. */
export interface StreamMessage {
  readonly sequence: number;
  readonly bytes: Uint8Array;
}

/**
 * Called before missing messages are counted as a fault. Throws if they are none: the stream's current owner may have removed messages that
 * it has processed, while this reader was paused.
 */
export type ConfirmGap = () => Promise<void>;

/** The connection that a reader uses. */
export interface StreamReaderDeps {
  readonly manager: JetStreamManager;
  readonly jetstream: JetStreamClient;
  readonly faults: BusFaults;
  readonly confirmGap: ConfirmGap | undefined;
}

/**
 * Reads one stream in order from a sequence on, without holes and without repeats, whatever happens to the server: the
 * position is ours, so the reader opens a lost consumer again where it stopped.
 *
 * Only for streams from which nothing is removed before every reader is past it: a missing message at our position is a
 * `StreamGapError`. Streams with legal holes (dead letters, feeds) are read with `Bus.messages` and `Bus.messagesOf`.
 */
export class StreamReader {
  readonly #manager: JetStreamManager;
  readonly #jetstream: JetStreamClient;
  readonly #faults: BusFaults;
  readonly #confirmGap: ConfirmGap | undefined;
  readonly #stream: string;
  #nextSequence: number;
  #consumer: Consumer | undefined;
  #consumerName = '';
  #messages: ConsumerMessages | undefined;
  #closed = false;

  constructor(
    { manager, jetstream, faults, confirmGap }: StreamReaderDeps,
    stream: string,
    sequence: number,
  ) {
    this.#manager = manager;
    this.#jetstream = jetstream;
    this.#faults = faults;
    this.#confirmGap = confirmGap;
    this.#stream = stream;
    this.#nextSequence = sequence;
  }

  /**
   * Waits up to `waitMs` for messages, and gives each to `take` as it arrives. Ends after `messagesMax` messages, when
   * none comes in time, when `take` returns false, or when the reader is closed.
   * @throws {BusError} retryable, when the server is unavailable
   * @throws {StreamGapError} when messages are missing at our position; or the error of `ConfirmGap` in that case
   */
  async read(messagesMax: number, waitMs: number, take: (message: StreamMessage) => boolean): Promise<void> {
    const from = this.#nextSequence;
    try {
      const consumer = await this.#open();
      if (this.#closed) return;
      const messages = await consumer.fetch({ max_messages: messagesMax, expires: Math.max(1_000, waitMs) });
      this.#messages = messages;
      // Closed while the fetch began: without this the fetch would wait until its time is over.
      if (this.#closed) void messages.close();
      let unexpected = 0;
      let isOver = false;
      for await (const message of messages) {
        // Not left by `break`: the library then never reports the end of the iteration, for which `close` waits.
        if (isOver) continue;
        if (message.seq !== this.#nextSequence) unexpected = message.seq;
        else {
          this.#nextSequence += 1;
          if (take({ sequence: message.seq, bytes: message.data })) continue;
        }
        isOver = true;
        // Not awaited: the close waits for the iteration to end, which is this very loop.
        void messages.close();
      }
      if (unexpected !== 0) await this.#distrust(unexpected);
      else if (this.#nextSequence - from < messagesMax && !this.#closed) await this.#dropSkipping(consumer);
    } catch (error) {
      this.#consumer = undefined;
      if (!(error instanceof StreamGapError)) throw busError('read', error);
      await this.#confirmGap?.();
      this.#faults.gap(error);
      throw error;
    } finally {
      this.#messages = undefined;
    }
  }

  /** Ends the reader for good, also while `read` waits. */
  async close(): Promise<void> {
    this.#closed = true;
    const name = this.#consumerName;
    // A cluster does not answer who asks a second time: that call would wait for seconds.
    this.#consumerName = '';
    await this.#messages?.close();
    this.#consumer = undefined;
    if (name === '') return;
    await this.#forget(name);
  }

  /** Removes a consumer. The server drops an idle one by itself, so a failure costs nothing. */
  async #forget(name: string): Promise<void> {
    await this.#manager.consumers.delete(this.#stream, name).catch(() => false);
  }

  /**
   * The server may have sent more messages than were taken, and sends none twice: the rest would come only after the
   * next message of the stream. So the next read opens another consumer at our position.
   */
  async #dropSkipping(consumer: Consumer): Promise<void> {
    const { delivered } = await consumer.info();
    if (delivered.stream_seq >= this.#nextSequence) this.#consumer = undefined;
  }

  /**
   * Handles a message that is not the next one. Either the consumer repeats or skips messages, or the stream lacks the
   * next one.
   */
  async #distrust(sequence: number): Promise<void> {
    this.#consumer = undefined;
    if (sequence < this.#nextSequence) return;
    try {
      await firstAnswer(() => this.#manager.streams.getMessage(this.#stream, { seq: this.#nextSequence }));
    } catch (error) {
      if (!isAbsent(error)) throw error;
      throw new StreamGapError(this.#stream, this.#nextSequence, sequence);
    }
  }

  async #open(): Promise<Consumer> {
    if (this.#consumer !== undefined) return this.#consumer;
    const { first, last } = await streamBounds(this.#manager, this.#stream);
    const expected = this.#nextSequence;
    if (expected < first) throw new StreamGapError(this.#stream, expected, first);
    if (expected > last + 1) throw new StreamGapError(this.#stream, expected, last);
    const { name } = await firstAnswer(
      () =>
        this.#manager.consumers.add(this.#stream, {
          ack_policy: AckPolicy.None,
          deliver_policy: DeliverPolicy.StartSequence,
          opt_start_seq: expected,
          replay_policy: ReplayPolicy.Instant,
          inactive_threshold: nanos(CONSUMER_IDLE_MS),
          mem_storage: true,
          num_replicas: 1,
        }),
      (late) => this.#forget(late.name),
    );
    this.#consumerName = name;
    this.#consumer = await firstAnswer(() => this.#jetstream.consumers.get(this.#stream, name));
    return this.#consumer;
  }
}

/** The first and last sequence of a stream. */
export interface StreamBounds {
  readonly first: number;
  readonly last: number;
  /**
   * False: the answering server may have lost the others, which may have chosen another leader meanwhile and store
   * messages unknown to this one.
   */
  readonly isCertain: boolean;
}

/** First and last sequence in a stream; an empty stream has `first` = `last` + 1. */
export async function streamBounds(manager: JetStreamManager, stream: string): Promise<StreamBounds> {
  const { state, cluster, tookMs } = await firstAnswer(async () => {
    const startMs = performance.now();
    const info = await manager.streams.info(stream);
    return { ...info, tookMs: performance.now() - startMs };
  });
  // A server that has heard from its leader within that time does not vote for another one yet.
  const silentMs = Math.max(0, ...(cluster?.replicas ?? []).map(({ active }) => active / 1e6));
  return {
    first: state.messages === 0 ? state.last_seq + 1 : state.first_seq,
    last: state.last_seq,
    isCertain: silentMs + tookMs < LEADER_CERTAIN_MS,
  };
}
