import {
  AckPolicy,
  type Consumer,
  type ConsumerMessages,
  connect,
  DeliverPolicy,
  DiscardPolicy,
  type JetStreamClient,
  type JetStreamManager,
  type JsMsg,
  type KV,
  type NatsConnection,
  NatsError,
  nanos,
  ReplayPolicy,
  RetentionPolicy,
  StorageType,
} from 'nats';
import type { Logger } from './log.ts';

const NO_RESPONDERS = '503';
const TIMEOUT = 'TIMEOUT';
const WRONG_REVISION = 10071;
const CONSUMER_IDLE_MS = 300_000;

/** Where the bus is and who we are. `url` may hold user and password. */
export interface BusOptions {
  readonly url: string;
  readonly name: string;
}

/** A message of a stream: its sequence in that stream and its bytes. */
export interface StreamMessage {
  readonly sequence: number;
  readonly bytes: Uint8Array;
}

/** A stored value and the revision that a compare-and-set of it must name. */
export interface KeyedValue {
  readonly key: string;
  /** Absent when the key was deleted. */
  readonly bytes: Uint8Array | undefined;
  readonly revision: number;
}

/** The bus cannot do it now, or refused. `retryable` says whether the same call may succeed later. */
export class BusError extends Error {
  override readonly name = 'BusError';
  readonly retryable: boolean;
  /** `conflict`: another writer was first. `no-responders`: nobody listens. */
  readonly reason: 'conflict' | 'no-responders' | 'timeout' | 'full' | 'other';

  constructor(message: string, reason: BusError['reason'], cause: unknown) {
    super(message, { cause });
    this.reason = reason;
    this.retryable = reason !== 'conflict';
  }
}

/** JetStream and core NATS as this program uses them. Reconnects for ever; nothing is lost by a lost connection. */
export class Bus {
  readonly #connection: NatsConnection;
  readonly #jetstream: JetStreamClient;
  readonly #manager: JetStreamManager;

  readonly #reconnected = new Set<() => void>();
  #up = true;

  private constructor(connection: NatsConnection, manager: JetStreamManager, log: Logger) {
    this.#connection = connection;
    void this.#followStatus(log); // Ends with the connection.
    this.#jetstream = connection.jetstream();
    this.#manager = manager;
  }

  /** Connects, waiting for a bus that is still starting. Throws when it is not there within a minute. */
  static async connect(options: BusOptions, log: Logger): Promise<Bus> {
    const url = new URL(options.url);
    const connection = await connect({
      servers: `${url.hostname}:${url.port === '' ? '4222' : url.port}`,
      ...(url.username === ''
        ? {}
        : { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) }),
      name: options.name,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 200,
      reconnectJitter: 50,
      waitOnFirstConnect: false,
      timeout: 5_000,
      pingInterval: 5_000,
      ignoreClusterUpdates: true,
    });
    const manager = await connection.jetstreamManager({ checkAPI: false });
    return new Bus(connection, manager, log);
  }

  /** True while the connection is up. */
  get connected(): boolean {
    return this.#up && !this.#connection.isClosed();
  }

  /** The largest message that the server takes, in bytes. */
  get messageMaxBytes(): number {
    return this.#connection.info?.max_payload ?? 1_048_576;
  }

  /**
   * Makes sure that a file stream with this one subject exists. A full stream refuses new messages instead of
   * forgetting old ones: what was acknowledged stays.
   */
  async ensureStream(name: string, subject: string, bytesMax: number): Promise<void> {
    const limits = { max_bytes: bytesMax, discard: DiscardPolicy.New };
    try {
      const { config } = await this.#manager.streams.info(name);
      if (config.max_bytes !== bytesMax) await this.#manager.streams.update(name, { ...config, ...limits });
      return;
    } catch (error) {
      if (!(error instanceof NatsError) || error.api_error?.code !== 404) throw busError('stream', error);
    }
    try {
      await this.#manager.streams.add({
        name,
        subjects: [subject],
        storage: StorageType.File,
        retention: RetentionPolicy.Limits,
        num_replicas: 1,
        duplicate_window: nanos(1_000),
        ...limits,
      });
    } catch (error) {
      throw busError('stream', error);
    }
  }

  /** Appends to a stream; resolves with its sequence once the server has it durably. */
  async publish(subject: string, bytes: Uint8Array, timeoutMs: number): Promise<number> {
    try {
      const ack = await this.#jetstream.publish(subject, bytes, { timeout: timeoutMs });
      return ack.seq;
    } catch (error) {
      throw busError('publish', error);
    }
  }

  /** First and last sequence that a stream holds; an empty stream has `first` = `last` + 1. */
  async streamBounds(name: string): Promise<{ readonly first: number; readonly last: number }> {
    try {
      return await streamBounds(this.#manager, name);
    } catch (error) {
      throw busError('stream', error);
    }
  }

  /** Lets the stream forget every message up to and including `sequence`. */
  async forget(name: string, sequence: number): Promise<void> {
    try {
      await this.#manager.streams.purge(name, { seq: sequence + 1 });
    } catch (error) {
      throw busError('forget', error);
    }
  }

  /** Removes one message of a stream. */
  async remove(name: string, sequence: number): Promise<void> {
    try {
      await this.#manager.streams.deleteMessage(name, sequence);
    } catch (error) {
      throw busError('remove', error);
    }
  }

  /** The messages that a stream holds now, one after the other. */
  async *messages(name: string): AsyncGenerator<StreamMessage> {
    const { first, last } = await this.streamBounds(name);
    for (let sequence = first; sequence <= last; sequence += 1) {
      try {
        const message = await this.#manager.streams.getMessage(name, { seq: sequence });
        yield { sequence, bytes: message.data };
      } catch (error) {
        // A message that was removed leaves its number.
        if (!(error instanceof NatsError) || error.api_error?.code !== 404) throw busError('get', error);
      }
    }
  }

  /** Opens a reader of a stream that starts at `sequence`. Every reader sees every message. */
  reader(stream: string, sequence: number): StreamReader {
    return new StreamReader(this.#manager, this.#jetstream, stream, sequence);
  }

  /** A bucket of named bytes with revisions; made when absent. */
  async keyed(bucket: string): Promise<KeyedBytes> {
    try {
      const kv = await this.#jetstream.views.kv(bucket, {
        history: 1,
        storage: StorageType.File,
        timeout: 5_000,
      });
      return new KeyedBytes(kv, this.#reconnected);
    } catch (error) {
      throw busError('bucket', error);
    }
  }

  /** Asks whoever answers `subject`. */
  async ask(subject: string, bytes: Uint8Array, timeoutMs: number): Promise<Uint8Array> {
    try {
      return (await this.#connection.request(subject, bytes, { timeout: timeoutMs })).data;
    } catch (error) {
      throw busError('ask', error);
    }
  }

  /** Answers questions on `subject` until the returned function is called. An answer of undefined is not sent. */
  answer(
    subject: string,
    reply: (bytes: Uint8Array) => Promise<Uint8Array | undefined> | Uint8Array,
  ): () => void {
    const subscription = this.#connection.subscribe(subject, {
      callback: (_error, message) => {
        // A failed answer is the asker's timeout; `reply` reports its own failures.
        void Promise.resolve(reply(message.data)).then((bytes) => {
          if (bytes !== undefined) message.respond(bytes);
        });
      },
    });
    return () => subscription.unsubscribe();
  }

  /** Sends what is buffered and closes. */
  async close(): Promise<void> {
    if (!this.#connection.isClosed()) await this.#connection.close();
  }

  async #followStatus(log: Logger): Promise<void> {
    for await (const status of this.#connection.status()) {
      if (status.type === 'disconnect') {
        this.#up = false;
        log.warn('bus: connection lost, trying again');
      }
      if (status.type === 'reconnect') {
        this.#up = true;
        log.info('bus: connected again');
        for (const listener of this.#reconnected) listener();
      }
    }
  }
}

/** Named bytes with compare-and-set. Keys: letters, digits, `-`, `_`, `.`, `=`. */
export class KeyedBytes {
  readonly #kv: KV;
  readonly #reconnected: Set<() => void>;

  constructor(kv: KV, reconnected: Set<() => void>) {
    this.#kv = kv;
    this.#reconnected = reconnected;
  }

  async get(key: string): Promise<KeyedValue | undefined> {
    try {
      const entry = await this.#kv.get(key);
      return entry === null ? undefined : keyedValue(entry);
    } catch (error) {
      throw busError(`get ${key}`, error);
    }
  }

  /** Writes `key` if it still has `revision` (0: it does not exist); returns the new revision. */
  async put(key: string, bytes: Uint8Array, revision: number): Promise<number> {
    try {
      return revision === 0 ? await this.#kv.create(key, bytes) : await this.#kv.update(key, bytes, revision);
    } catch (error) {
      throw busError(`put ${key}`, error);
    }
  }

  /** Removes `key`; watchers see it without bytes. */
  async remove(key: string): Promise<void> {
    try {
      await this.#kv.delete(key);
    } catch (error) {
      throw busError(`remove ${key}`, error);
    }
  }

  /** The keys that exist. */
  async keys(): Promise<string[]> {
    const keys: string[] = [];
    for await (const key of await this.#kv.keys()) keys.push(key);
    return keys;
  }

  /**
   * Calls `change` for every present key and then for each change, in order; resolves once the present ones were
   * seen. The returned function ends it. After a lost connection every key is told again: the library would notice the
   * lost watch only by its silence, seconds later.
   */
  async watch(change: (value: KeyedValue) => void): Promise<() => void> {
    let current = await this.#watchOnce(change);
    let ended = false;
    const again = () => {
      void this.#watchOnce(change).then(
        (stop) => {
          (ended ? stop : current)();
          if (!ended) current = stop;
        },
        () => {}, // The connection was lost once more; its return calls this again.
      );
    };
    this.#reconnected.add(again);
    return () => {
      ended = true;
      this.#reconnected.delete(again);
      current();
    };
  }

  async #watchOnce(change: (value: KeyedValue) => void): Promise<() => void> {
    let seen: () => void = () => {};
    const caughtUp = new Promise<void>((resolve) => {
      seen = resolve;
    });
    const watcher = await this.#kv.watch({ initializedFn: () => seen() });
    const reading = (async () => {
      for await (const entry of watcher) change(keyedValue(entry));
    })();
    await Promise.race([caughtUp, reading]);
    return () => watcher.stop();
  }
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

  constructor(manager: JetStreamManager, jetstream: JetStreamClient, stream: string, sequence: number) {
    this.#manager = manager;
    this.#jetstream = jetstream;
    this.#stream = stream;
    this.#nextSequence = sequence;
  }

  /**
   * Waits for messages, `waitMs` at the most, and gives each to `take` as it arrives; ends when `messagesMax` came,
   * nothing came in time, or `take` answers false. Throws a retryable BusError when the server is away.
   */
  async read(messagesMax: number, waitMs: number, take: (message: StreamMessage) => boolean): Promise<void> {
    try {
      const consumer = await this.#open();
      const messages = await consumer.fetch({ max_messages: messagesMax, expires: Math.max(1_000, waitMs) });
      this.#messages = messages;
      for await (const message of messages) {
        if (!this.#accept(message)) break;
        if (!take({ sequence: message.seq, bytes: message.data })) {
          // Not awaited: the close waits for the iteration to end, which is this very loop.
          void messages.close();
          break;
        }
      }
    } catch (error) {
      this.#consumer = undefined;
      throw busError('read', error);
    } finally {
      this.#messages = undefined;
    }
  }

  /** Ends the reader, also one that waits in `read`. */
  async close(): Promise<void> {
    const name = this.#consumerName;
    await this.#messages?.close();
    this.#consumer = undefined;
    if (name === '') return;
    // The server drops an idle reader by itself, so a failure here costs nothing.
    await this.#manager.consumers.delete(this.#stream, name).catch(() => false);
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

function keyedValue(entry: {
  key: string;
  value: Uint8Array;
  revision: number;
  operation: string;
}): KeyedValue {
  return {
    key: entry.key,
    bytes: entry.operation === 'PUT' ? entry.value : undefined,
    revision: entry.revision,
  };
}

function busError(what: string, cause: unknown): BusError {
  if (cause instanceof BusError) return cause;
  const code = cause instanceof NatsError ? cause.code : '';
  const apiCode = cause instanceof NatsError ? cause.api_error?.err_code : undefined;
  const message = `bus: ${what}: ${cause instanceof Error ? cause.message : String(cause)}`;
  if (apiCode === WRONG_REVISION) return new BusError(message, 'conflict', cause);
  if (code === NO_RESPONDERS) return new BusError(message, 'no-responders', cause);
  if (code === TIMEOUT) return new BusError(message, 'timeout', cause);
  if (/maximum bytes|no space|insufficient/i.test(message)) return new BusError(message, 'full', cause);
  return new BusError(message, 'other', cause);
}

async function streamBounds(
  manager: JetStreamManager,
  stream: string,
): Promise<{ first: number; last: number }> {
  const { state } = await manager.streams.info(stream);
  return { first: state.messages === 0 ? state.last_seq + 1 : state.first_seq, last: state.last_seq };
}
