import {
  AckPolicy,
  type Consumer,
  type ConsumerMessages,
  DeliverPolicy,
  type JetStreamClient,
  type JetStreamManager,
  type JsMsg,
  nanos,
  ReplayPolicy,
} from 'nats';
import { busError } from './bus-error.ts';

const CONSUMER_IDLE_MS = 300_000;

/** A message of a stream: its sequence in that stream and its bytes. */
export interface StreamMessage {
  readonly sequence: number;
  readonly bytes: Uint8Array;
}

/**
 * Reads one stream in order from a sequence on, without holes and without repeats, whatever happens to the server in
 * between: the position is ours, so a reader that was lost is opened again where we stopped.
 */
export class StreamReader {
  readonly #manager: JetStreamManager;
  readonly #jetstream: JetStreamClient;
  readonly #stream: string;
  #nextSequence: number;
  #consumer: Consumer | undefined;
  #consumerName = '';
  #messages: ConsumerMessages | undefined;
  #closed = false;

  constructor(manager: JetStreamManager, jetstream: JetStreamClient, stream: string, sequence: number) {
    this.#manager = manager;
    this.#jetstream = jetstream;
    this.#stream = stream;
    this.#nextSequence = sequence;
  }

  /**
   * Waits for messages, `waitMs` at the most, and gives each to `take` as it arrives; ends when `messagesMax` came,
   * nothing came in time, `take` answers false, or the reader is closed. Throws a retryable BusError when the server is away.
   */
  async read(messagesMax: number, waitMs: number, take: (message: StreamMessage) => boolean): Promise<void> {
    const from = this.#nextSequence;
    try {
      const consumer = await this.#open();
      if (this.#closed) return;
      const messages = await consumer.fetch({ max_messages: messagesMax, expires: Math.max(1_000, waitMs) });
      this.#messages = messages;
      // Closed while it was opened: the server would be silent until the time is over.
      if (this.#closed) void messages.close();
      for await (const message of messages) {
        if (!this.#accept(message)) break;
        if (!take({ sequence: message.seq, bytes: message.data })) {
          // Not awaited: the close waits for the iteration to end, which is this very loop.
          void messages.close();
          break;
        }
      }
      if (this.#nextSequence - from < messagesMax && !this.#closed) await this.#letGoOfSent(consumer);
    } catch (error) {
      this.#consumer = undefined;
      throw busError('read', error);
    } finally {
      this.#messages = undefined;
    }
  }

  /** Ends the reader for good, also one that waits in `read`. */
  async close(): Promise<void> {
    this.#closed = true;
    const name = this.#consumerName;
    await this.#messages?.close();
    this.#consumer = undefined;
    if (name === '') return;
    // The server drops an idle reader by itself, so a failure here costs nothing.
    await this.#manager.consumers.delete(this.#stream, name).catch(() => false);
  }

  /**
   * The server may have sent more than was taken, and sends nothing twice: what was not waited for would come only behind
   * the next message of the stream, whenever that is. So it is asked for anew, by another reader on the server.
   */
  async #letGoOfSent(consumer: Consumer): Promise<void> {
    const { delivered } = await consumer.info();
    if (delivered.stream_seq >= this.#nextSequence) this.#consumer = undefined;
  }

  /** True when `message` is the next one. A repeat is passed over; a hole means the reader on the server is wrong. */
  #accept(message: JsMsg): boolean {
    if (message.seq !== this.#nextSequence) {
      this.#consumer = undefined;
      return false;
    }
    this.#nextSequence += 1;
    return true;
  }

  async #open(): Promise<Consumer> {
    if (this.#consumer !== undefined) return this.#consumer;
    const { first, last } = await streamBounds(this.#manager, this.#stream);
    // After a purge the stream may start later than where we stopped: those messages were flushed by us.
    if (this.#nextSequence < first) this.#nextSequence = first;
    if (this.#nextSequence > last + 1)
      throw new Error(`stream ${this.#stream} ends at ${last}, before our position`);
    const created = await this.#manager.consumers.add(this.#stream, {
      ack_policy: AckPolicy.None,
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: this.#nextSequence,
      replay_policy: ReplayPolicy.Instant,
      inactive_threshold: nanos(CONSUMER_IDLE_MS),
      mem_storage: true,
      num_replicas: 1,
    });
    this.#consumerName = created.name;
    this.#consumer = await this.#jetstream.consumers.get(this.#stream, created.name);
    return this.#consumer;
  }
}

/** First and last sequence that a stream holds; an empty stream has `first` = `last` + 1. */
export async function streamBounds(
  manager: JetStreamManager,
  stream: string,
): Promise<{ first: number; last: number }> {
  const { state } = await manager.streams.info(stream);
  return { first: state.messages === 0 ? state.last_seq + 1 : state.first_seq, last: state.last_seq };
}
