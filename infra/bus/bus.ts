import {
  connect,
  DiscardPolicy,
  headers as headersOf,
  type JetStreamClient,
  type JetStreamManager,
  type NatsConnection,
  NatsError,
  nanos,
  RetentionPolicy,
  StorageType,
} from 'nats';
import type { Logger } from '../log.ts';
import { busError } from './bus-error.ts';
import { KeyedBytes } from './keyed-bytes.ts';
import { type StreamMessage, StreamReader, streamBounds } from './stream-reader.ts';

/** Where the bus is and who we are. `url` may hold user and password. */
export interface BusOptions {
  readonly url: string;
  readonly name: string;
}

/** How a bucket is kept. One that exists already stays as it was made. */
export interface BucketOptions {
  /** `memory`: gone when the server ends; then the bucket has to be opened again, too. */
  readonly storage: 'file' | 'memory';
  /** A value goes so long after it was written; undefined: it stays. */
  readonly maxAgeMs?: number;
  /** Beyond it, writes are refused as `full`; undefined: no bound but the server's. */
  readonly bytesMax?: number;
}

const KEPT: BucketOptions = { storage: 'file' };

/** What becomes of the messages of a stream that has no room: the oldest go, and any of this age. */
export interface OldestGo {
  readonly oldestGo: true;
  readonly ageMaxMs: number;
}

/** A message that may only stand behind another one. */
export interface FollowingMessage {
  readonly bytes: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
  /** Sequence of the last message of its subject; 0: there is none. */
  readonly after: number;
  readonly timeoutMs: number;
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
   * forgetting old ones, so that what was acknowledged stays; unless it is said that the oldest go.
   */
  async ensureStream(name: string, subject: string, bytesMax: number, oldestGo?: OldestGo): Promise<void> {
    const limits = {
      max_bytes: bytesMax,
      discard: oldestGo === undefined ? DiscardPolicy.New : DiscardPolicy.Old,
      max_age: nanos(oldestGo?.ageMaxMs ?? 0),
    };
    try {
      const { config } = await this.#manager.streams.info(name);
      if (config.max_bytes !== bytesMax || config.max_age !== limits.max_age)
        await this.#manager.streams.update(name, { ...config, ...limits });
      return;
    } catch (error) {
      if (!isAbsent(error)) throw busError('stream', error);
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

  /**
   * Appends to a stream if the subject's last message is still `after`, else throws a conflict; resolves with its sequence
   * once the server has it durably.
   */
  async append(subject: string, { bytes, headers, after, timeoutMs }: FollowingMessage): Promise<number> {
    const named = headersOf();
    for (const [name, value] of Object.entries(headers)) named.set(name, value);
    try {
      const ack = await this.#jetstream.publish(subject, bytes, {
        headers: named,
        expect: { lastSubjectSequence: after },
        timeout: timeoutMs,
      });
      return ack.seq;
    } catch (error) {
      throw busError('append', error);
    }
  }

  /** Sequence and headers of the last message of a subject; undefined when it has none, or there is no such stream. */
  async lastOf(
    name: string,
    subject: string,
  ): Promise<{ readonly sequence: number; readonly headers: Readonly<Record<string, string>> } | undefined> {
    try {
      const { seq, header } = await this.#manager.streams.getMessage(name, { last_by_subj: subject });
      return {
        sequence: seq,
        headers: Object.fromEntries(header.keys().map((key) => [key, header.get(key)])),
      };
    } catch (error) {
      if (isAbsent(error)) return undefined;
      throw busError('get', error);
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

  /** When the stream was made, in milliseconds since 1970: tells it from one of the same name before it. */
  async streamCreatedMs(name: string): Promise<number> {
    try {
      return Date.parse((await this.#manager.streams.info(name)).created);
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

  /** Lets a stream, if it is there, forget every message on subjects that `subject` matches. */
  async purgeSubject(name: string, subject: string): Promise<void> {
    try {
      await this.#manager.streams.purge(name, { filter: subject });
    } catch (error) {
      if (!isAbsent(error)) throw busError('forget', error);
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
        if (!isAbsent(error)) throw busError('get', error);
      }
    }
  }

  /** The messages on subjects that `subject` matches, of a stream that may be missing, one after the other to the end. */
  async *messagesOf(name: string, subject: string): AsyncGenerator<StreamMessage> {
    for (let sequence = 1; ; ) {
      // The library's type of a request leaves this kind out.
      const next: { readonly seq: number; readonly next_by_subj: string } = {
        seq: sequence,
        next_by_subj: subject,
      };
      try {
        const message = await this.#manager.streams.getMessage(name, next);
        sequence = message.seq + 1;
        yield { sequence: message.seq, bytes: message.data };
      } catch (error) {
        if (isAbsent(error)) return;
        throw busError('get', error);
      }
    }
  }

  /** Opens a reader of a stream that starts at `sequence`. Every reader sees every message. */
  reader(stream: string, sequence: number): StreamReader {
    return new StreamReader(this.#manager, this.#jetstream, stream, sequence);
  }

  /** A bucket of named bytes with revisions; made when absent, to be kept for ever unless `options` say otherwise. */
  async keyed(bucket: string, { storage, maxAgeMs, bytesMax }: BucketOptions = KEPT): Promise<KeyedBytes> {
    try {
      const kv = await this.#jetstream.views.kv(bucket, {
        history: 1,
        storage: storage === 'memory' ? StorageType.Memory : StorageType.File,
        timeout: 5_000,
        ...(maxAgeMs === undefined ? {} : { ttl: maxAgeMs }),
        ...(bytesMax === undefined ? {} : { max_bytes: bytesMax }),
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

  /** Sends to those who listen to `subject` now. Nothing is stored or confirmed. */
  broadcast(subject: string, bytes: Uint8Array): void {
    try {
      this.#connection.publish(subject, bytes);
    } catch (error) {
      throw busError('broadcast', error);
    }
  }

  /** Calls `listener`, which must not throw, with every broadcast on `subject` until the returned function is called. */
  listen(subject: string, listener: (bytes: Uint8Array) => void): () => void {
    const subscription = this.#connection.subscribe(subject, {
      callback: (error, message) => {
        if (error === null) listener(message.data);
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

/** Whether there is no such stream, or no such message in it. */
function isAbsent(error: unknown): boolean {
  return error instanceof NatsError && error.api_error?.code === 404;
}
