import {
  type Consumer,
  type ConsumerMessages,
  ErrorCode,
  type JetStreamClient,
  type JetStreamManager,
  NatsError,
} from 'nats';
import type { Network } from './network.ts';
import type { Actor } from './virtual-time.ts';

const NO_STREAM = 10_059;
const NO_MESSAGE = 10_037;
const WRONG_LAST = 10_071;
const TIMEOUT_MS = 5_000;

/** A message of a stream. */
export interface StreamedMessage {
  readonly sequence: number;
  readonly bytes: Uint8Array;
}

/** Observes the changes of a stream. */
export interface StreamListener {
  readonly appended: (bytes: Uint8Array) => void;
  readonly trimmed: (upTo: number) => void;
}

interface Stream {
  readonly listener: StreamListener;
  messages: StreamedMessage[];
  last: number;
}

/** Remaining messages of a consumer's pull, and their receiver. */
interface Pull {
  readonly actor: Actor | undefined;
  readonly fetched: FetchedMessages;
  left: number;
  /** The connection delivers in order. */
  arrivesMs: number;
}

interface ServerConsumer {
  readonly name: string;
  readonly stream: Stream;
  next: number;
  pull: Pull | undefined;
}

/** Says as the client library does that the server rejects something. */
export function rejected(code: number, description: string): NatsError {
  const error = new NatsError(description, String(400));
  error.api_error = { code: 400, err_code: code, description };
  return error;
}

/** The server's error for a write behind the wrong message. */
export function wrongLast(): NatsError {
  return rejected(WRONG_LAST, 'wrong last sequence');
}

/** The client library's error when no answer comes. */
export function silence(): NatsError {
  return new NatsError('TIMEOUT', ErrorCode.Timeout);
}

/**
 * The streams of the bus, behind the client library's interface, so that our own reader of streams runs on them. A consumer
 * sends each message once: lost messages are not sent again, and repeats come after the messages that followed.
 */
export class SimulatedStreams {
  readonly #network: Network;
  readonly #streams = new Map<string, Stream>();
  readonly #consumers = new Map<string, ServerConsumer>();
  #consumersMade = 0;

  constructor(network: Network) {
    this.#network = network;
  }

  create(name: string, listener: StreamListener): void {
    this.#streams.set(name, { listener, messages: [], last: 0 });
  }

  /** The last sequence. */
  lastOf(name: string): number {
    return this.#of(name).last;
  }

  /** Appends immediately, like the server does when a message arrives. */
  append(name: string, bytes: Uint8Array): number {
    const stream = this.#of(name);
    stream.last += 1;
    stream.messages.push({ sequence: stream.last, bytes });
    stream.listener.appended(bytes);
    for (const consumer of this.#consumers.values()) if (consumer.stream === stream) this.#pump(consumer);
    return stream.last;
  }

  /** The part of the library's manager that `StreamReader` and `Bus` use. */
  get manager(): JetStreamManager {
    const call = <Result>(what: string, act: () => Result) =>
      this.#network.call({ what, act, silence, timeoutMs: TIMEOUT_MS, server: 'bus' });
    const streams = {
      info: (name: string) =>
        call(`info ${name}`, () => {
          const { messages, last } = this.#of(name);
          const first = messages[0]?.sequence ?? last + 1;
          return { state: { messages: messages.length, first_seq: first, last_seq: last } };
        }),
      getMessage: (name: string, { seq }: { readonly seq: number }) =>
        call(`get ${name} ${seq}`, () => {
          const found = this.#of(name).messages.find(({ sequence }) => sequence === seq);
          if (found === undefined) throw rejected(NO_MESSAGE, 'no message found');
          return { seq, data: found.bytes };
        }),
      purge: (name: string, { seq }: { readonly seq: number }) =>
        call(`trim ${name} to ${seq - 1}`, () => {
          const stream = this.#of(name);
          if ((stream.messages[0]?.sequence ?? seq) < seq) stream.listener.trimmed(seq - 1);
          stream.messages = stream.messages.filter(({ sequence }) => sequence >= seq);
        }),
    };
    const consumers = {
      add: (name: string, { opt_start_seq: next }: { readonly opt_start_seq: number }) =>
        call(`consume ${name} from ${next}`, () => {
          this.#consumersMade += 1;
          const consumer = {
            name: `c${this.#consumersMade}`,
            stream: this.#of(name),
            next,
            pull: undefined,
          };
          this.#consumers.set(consumer.name, consumer);
          return { name: consumer.name };
        }),
      delete: (_stream: string, name: string) =>
        call(`forget ${name}`, () => {
          return this.#consumers.delete(name);
        }),
    };
    return { streams, consumers } as unknown as JetStreamManager;
  }

  /** The part of the library's client that `StreamReader` uses. */
  get client(): JetStreamClient {
    const consumers = { get: async (_stream: string, name: string) => this.#consumerOf(name) };
    return { consumers } as unknown as JetStreamClient;
  }

  #consumerOf(name: string): Consumer {
    const { time } = this.#network;
    const consumer = {
      fetch: async ({ max_messages: left, expires }: { max_messages: number; expires: number }) => {
        const { actor } = time;
        const fetched = new FetchedMessages();
        time.plan(this.#network.delayMs(), undefined, `pull ${name}`, () => {
          const found = this.#consumers.get(name);
          if (found === undefined) return;
          found.pull = { actor, fetched, left, arrivesMs: time.nowMs };
          this.#pump(found);
        });
        time.plan(expires, actor, `pull ${name} expires`, () => fetched.end());
        return fetched as unknown as ConsumerMessages;
      },
      info: () =>
        this.#network.call({
          what: `state of ${name}`,
          act: () => {
            const found = this.#consumers.get(name);
            if (found === undefined) throw rejected(NO_STREAM, 'consumer not found');
            return { delivered: { stream_seq: found.next - 1 } };
          },
          silence,
          timeoutMs: TIMEOUT_MS,
          server: 'bus',
        }),
    };
    return consumer as unknown as Consumer;
  }

  #pump(consumer: ServerConsumer): void {
    const { pull, stream } = consumer;
    const { time, weather } = this.#network;
    if (pull === undefined) return;
    if (pull.actor?.isAlive === false || pull.fetched.isOver) {
      consumer.pull = undefined;
      return;
    }
    for (const message of stream.messages) {
      if (pull.left === 0) break;
      if (message.sequence < consumer.next) continue;
      consumer.next = message.sequence + 1;
      pull.left -= 1;
      if (pull.actor !== undefined && pull.actor.cutOffUntilMs > time.nowMs)
        this.#network.count('deliveries lost');
      else if (weather.deliveriesLost > 0 && time.random.chance(weather.deliveriesLost))
        this.#network.count('deliveries lost');
      else this.#send(pull, message);
      if (weather.deliveriesRepeated > 0 && time.random.chance(weather.deliveriesRepeated)) {
        this.#network.count('deliveries repeated');
        this.#send(pull, message);
      }
    }
    if (pull.left > 0) return;
    consumer.pull = undefined;
    time.plan(pull.arrivesMs - time.nowMs, pull.actor, 'pull complete', () => pull.fetched.end());
  }

  #send(pull: Pull, message: StreamedMessage): void {
    const { time } = this.#network;
    pull.arrivesMs = Math.max(pull.arrivesMs, time.nowMs + this.#network.delayMs());
    time.plan(pull.arrivesMs - time.nowMs, pull.actor, `message ${message.sequence}`, () =>
      pull.fetched.add({ seq: message.sequence, data: message.bytes }),
    );
  }

  #of(name: string): Stream {
    const stream = this.#streams.get(name);
    if (stream === undefined) throw rejected(NO_STREAM, 'stream not found');
    return stream;
  }
}

interface FetchedMessage {
  readonly seq: number;
  readonly data: Uint8Array;
}

/** The messages of one pull, as the reader iterates them. */
class FetchedMessages implements AsyncIterable<FetchedMessage> {
  readonly #waiting: FetchedMessage[] = [];
  #wake = () => {};
  #isOver = false;

  get isOver(): boolean {
    return this.#isOver;
  }

  add(message: FetchedMessage): void {
    this.#waiting.push(message);
    this.#wake();
  }

  end(): void {
    this.#isOver = true;
    this.#wake();
  }

  async close(): Promise<void> {
    this.#waiting.length = 0;
    this.end();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<FetchedMessage> {
    for (;;) {
      const next = this.#waiting.shift();
      if (next !== undefined) yield next;
      else if (this.#isOver) return;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }
}
