import {
  connect,
  headers as headersOf,
  type JetStreamClient,
  type JetStreamManager,
  type Msg,
  type NatsConnection,
  StorageType,
} from 'nats';
import type { Logger } from '../log.ts';
import { Metrics } from '../metrics.ts';
import { BucketWatches } from './bucket-watch.ts';
import { busError, isAbsent } from './bus-error.ts';
import { BusFaults, type Fault, type NoteFault } from './bus-faults.ts';
import { type BusOptions, connectionOptions } from './bus-servers.ts';
import { firstAnswer } from './first-answer.ts';
import { KeyedBytes, STREAM_PREFIX } from './keyed-bytes.ts';
import { sequenceIn } from './publish-answer.ts';
import { Requests } from './requests.ts';
import {
  type ConfirmGap,
  type StreamBounds,
  type StreamMessage,
  StreamReader,
  streamBounds,
} from './stream-reader.ts';
import {
  deleteStream,
  ensureStream,
  hasStream,
  isWithin,
  type OldestGo,
  renameSubject,
  rewriteNeeds,
} from './streams.ts';
import { whenFormed } from './when-formed.ts';

/** The answers of a subscriber to the requests on its subject. */
export interface Answering {
  /**
   * Returns the answer, or undefined when it cannot be given now. May throw: a `DecodeError` for a request that cannot be
   * read, anything else for a failure.
   */
  readonly reply: (request: Uint8Array) => Promise<Uint8Array | undefined> | Uint8Array | undefined;
  /** The protocol's answer when there is no reply; `away`: `reply` returned undefined. Must not throw. */
  readonly unavailable: (why: Fault | 'away') => Uint8Array;
}

/** Storage options of a bucket. An existing bucket stays as it was created. */
export interface BucketOptions {
  /** `memory`: lost when the server ends; then the bucket has to be opened again, too. */
  readonly storage: 'file' | 'memory';
  /**
   * Overwrites replaced and removed values in the file, at one more request for each write. True by default; false is for buckets that
   * never contain secrets or personal data.
   */
  readonly erases?: boolean;
  /** A value expires this long after it was written; undefined: never. */
  readonly maxAgeMs?: number;
  /** Writes beyond it are rejected as `full`; undefined: only the server's limit applies. */
  readonly bytesMax?: number;
}

const FILE_BUCKET: BucketOptions = { storage: 'file' };
/**
 * Messages of a key that the server retains, because it does not overwrite messages that it drops by itself. A key has one, and
 * a second one between a write and the overwriting of the previous value; more only if processes ended in between.
 */
const REVISIONS_MAX = 16;
// Constants of nats-server, which no setting changes: its smallest file, and the file size above which it rewrites, rounded up.

/** A message that may only be appended after a known one. */
export interface FollowingMessage {
  readonly bytes: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
  /** Sequence of the last message of its subject; 0: the subject has none. */
  readonly after: number;
  readonly timeoutMs: number;
}

interface OwnOptions {
  readonly log: Logger;
  readonly faults: BusFaults;
  readonly replicas: number;
  readonly inboxPrefix: string | undefined;
  readonly watches: BucketWatches;
}

/** JetStream and core NATS as this program uses them. Reconnects for ever; a lost connection loses nothing. */
export class Bus {
  readonly #connection: NatsConnection;
  readonly #jetstream: JetStreamClient;
  readonly #manager: JetStreamManager;
  readonly #requests: Requests;
  readonly #faults: BusFaults;
  readonly #replicas: number;
  readonly #inboxPrefix: string | undefined;
  readonly #watches: BucketWatches;
  #up = true;

  private constructor(
    connection: NatsConnection,
    manager: JetStreamManager,
    { log, faults, replicas, inboxPrefix, watches }: OwnOptions,
  ) {
    this.#connection = connection;
    this.#requests = new Requests(connection, inboxPrefix);
    this.#faults = faults;
    this.#inboxPrefix = inboxPrefix;
    this.#watches = watches;
    this.#replicas = replicas;
    void this.#followStatus(log); // Ends with the connection.
    this.#jetstream = connection.jetstream();
    this.#manager = manager;
  }

  /** Connects, waiting for a bus that is still starting. Throws when the bus does not answer within a minute. */
  static async connect(options: BusOptions, log: Logger): Promise<Bus> {
    const reached = connectionOptions(options);
    const connection = await connect({
      ...reached,
      name: options.name,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 200,
      reconnectJitter: 50,
      waitOnFirstConnect: false,
      timeout: 5_000,
      pingInterval: 5_000,
    });
    const manager = await connection.jetstreamManager({ checkAPI: false });
    const { replicas = 1, metrics = new Metrics() } = options;
    const { inboxPrefix } = reached;
    const faults = new BusFaults(log, metrics);
    const watches = new BucketWatches(log, metrics);
    return new Bus(connection, manager, { log, faults, replicas, inboxPrefix, watches });
  }

  /** True while the connection is up. */
  get connected(): boolean {
    return this.#up && !this.#connection.isClosed();
  }

  /** Number of bucket mirrors that lack something that is stored. */
  get mirrorsBehind(): number {
    return this.#watches.behind;
  }

  /** The largest message that the server accepts, in bytes. */
  get messageMaxBytes(): number {
    return this.#connection.info?.max_payload ?? 1_048_576;
  }

  /**
   * Makes sure that a file stream with this one subject exists. A full stream rejects new messages instead of discarding old ones, so
   * acknowledged messages stay; `oldestGo` makes it discard the oldest.
   */
  ensureStream(name: string, subject: string, bytesMax: number, oldestGo?: OldestGo): Promise<void> {
    const plan = { name, subject, bytesMax, oldestGo, replicas: this.#replicas };
    return whenFormed(() => ensureStream(this.#manager, plan));
  }

  /** Makes a stream store only the messages of this subject. */
  renameSubject(name: string, subject: string): Promise<void> {
    return whenFormed(() => renameSubject(this.#manager, name, subject));
  }

  /** Appends to a stream; resolves with its sequence once the server has it durably. */
  async publish(subject: string, bytes: Uint8Array, timeoutMs: number): Promise<number> {
    return sequenceIn(await this.#requests.send('publish', subject, bytes, timeoutMs));
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

  /** Sequence and headers of the last message of a subject; undefined without a message or a stream. */
  async lastOf(
    name: string,
    subject: string,
  ): Promise<{ readonly sequence: number; readonly headers: Readonly<Record<string, string>> } | undefined> {
    try {
      const ask = () => this.#manager.streams.getMessage(name, { last_by_subj: subject });
      const { seq, header } = await firstAnswer(ask);
      return {
        sequence: seq,
        headers: Object.fromEntries(header.keys().map((key) => [key, header.get(key)])),
      };
    } catch (error) {
      if (isAbsent(error)) return undefined;
      throw busError('get', error);
    }
  }

  /** True if a stream of this name exists. */
  hasStream(name: string): Promise<boolean> {
    return hasStream(this.#manager, name);
  }

  /** Deletes a stream with all of its messages, if it exists. */
  deleteStream(name: string): Promise<void> {
    return deleteStream(this.#manager, name);
  }

  /** First and last sequence in a stream; an empty stream has `first` = `last` + 1. */
  async streamBounds(name: string): Promise<StreamBounds> {
    try {
      return await streamBounds(this.#manager, name);
    } catch (error) {
      throw busError('stream', error);
    }
  }

  /** A stream's number of messages, their bytes, and its limit in bytes. */
  async streamRoom(
    name: string,
  ): Promise<{ readonly messages: number; readonly bytes: number; readonly bytesMax: number }> {
    try {
      const { config, state } = await this.#manager.streams.info(name);
      const bytesMax = config.max_bytes > 0 ? config.max_bytes : Number.POSITIVE_INFINITY;
      return { messages: state.messages, bytes: state.bytes, bytesMax };
    } catch (error) {
      throw busError('stream', error);
    }
  }

  /** Creation time of the stream, in milliseconds since 1970: distinguishes it from an earlier one of the same name. */
  async streamCreatedMs(name: string): Promise<number> {
    try {
      return Date.parse((await firstAnswer(() => this.#manager.streams.info(name))).created);
    } catch (error) {
      throw busError('stream', error);
    }
  }

  /**
   * The bytes to add to a stream behind a message, trimmed or not, so that a trim of them all rewrites its file: the server keeps
   * trimmed messages in the file until the stream is empty. It rewrites a file over 2 MiB when less than half of it is alive, and
   * deletes one without live messages. `atOnceMax`: the largest message that surely fits into the stream.
   */
  rewriteNeeds(name: string): Promise<{ readonly bytes: number; readonly atOnceMax: number }> {
    return rewriteNeeds(this.#manager, name, this.messageMaxBytes);
  }

  /**
   * Removes every message up to and including `sequence`. Their bytes leave the file with the next trim that empties the
   * stream, or that `rewriteNeeds` describes.
   */
  async trim(name: string, sequence: number): Promise<void> {
    try {
      await this.#manager.streams.purge(name, { seq: sequence + 1 });
    } catch (error) {
      throw busError('trim', error);
    }
  }

  /** Removes one message of a stream and overwrites its bytes in the file. */
  async remove(name: string, sequence: number): Promise<void> {
    try {
      await this.#manager.streams.deleteMessage(name, sequence, true);
    } catch (error) {
      throw busError('remove', error);
    }
  }

  /** The messages that are in a stream now, in order. */
  async *messages(name: string): AsyncGenerator<StreamMessage> {
    const { first, last } = await this.streamBounds(name);
    for (let sequence = first; sequence <= last; sequence += 1) {
      try {
        const message = await firstAnswer(() => this.#manager.streams.getMessage(name, { seq: sequence }));
        yield { sequence, bytes: message.data };
      } catch (error) {
        // A message that was removed leaves its number.
        if (!isAbsent(error)) throw busError('get', error);
      }
    }
  }

  /** The messages on subjects that `subject` matches, in order up to the end; none when the stream does not exist. */
  async *messagesOf(name: string, subject: string): AsyncGenerator<StreamMessage> {
    for (let sequence = 1; ; ) {
      // The library's type of a request leaves this kind out.
      const next: { readonly seq: number; readonly next_by_subj: string } = {
        seq: sequence,
        next_by_subj: subject,
      };
      try {
        const message = await firstAnswer(() => this.#manager.streams.getMessage(name, next));
        sequence = message.seq + 1;
        yield { sequence: message.seq, bytes: message.data };
      } catch (error) {
        if (isAbsent(error)) return;
        throw busError('get', error);
      }
    }
  }

  /** Opens a reader of a stream that starts at `sequence`. Every reader gets every message. */
  reader(stream: string, sequence: number, confirmGap?: ConfirmGap): StreamReader {
    return new StreamReader(
      { manager: this.#manager, jetstream: this.#jetstream, faults: this.#faults, confirmGap },
      stream,
      sequence,
    );
  }

  /**
   * A bucket of named bytes with revisions; created when absent, with values that never expire unless `options` say
   * otherwise.
   */
  keyed(bucket: string, options: BucketOptions = FILE_BUCKET): Promise<KeyedBytes> {
    return whenFormed(() => this.#keyed(bucket, options));
  }

  async #keyed(
    bucket: string,
    { storage, maxAgeMs, bytesMax, erases = storage === 'file' }: BucketOptions,
  ): Promise<KeyedBytes> {
    const stream = `${STREAM_PREFIX}${bucket}`;
    const revisionsMax = erases ? REVISIONS_MAX : 1;
    try {
      const kv = await this.#jetstream.views.kv(bucket, {
        history: revisionsMax,
        storage: storage === 'memory' ? StorageType.Memory : StorageType.File,
        timeout: 5_000,
        replicas: this.#replicas,
        // The bucket remembers how it was made, so a change below comes too late for its reads.
        allow_direct: this.#replicas === 1,
        ...(maxAgeMs === undefined ? {} : { ttl: maxAgeMs }),
        ...(bytesMax === undefined ? {} : { max_bytes: bytesMax }),
      });
      const { config } = await this.#manager.streams.info(stream);
      const wanted = {
        max_msgs_per_subject: Math.max(config.max_msgs_per_subject, revisionsMax),
        num_replicas: Math.max(config.num_replicas, this.#replicas),
        // With several servers, a lagging one would answer a direct read with old values.
        allow_direct: config.allow_direct && Math.max(config.num_replicas, this.#replicas) === 1,
      };
      if (!isWithin(wanted, config)) await this.#manager.streams.update(stream, { ...config, ...wanted });
      return new KeyedBytes(kv, {
        connection: this.#connection,
        inboxPrefix: this.#inboxPrefix,
        manager: this.#manager,
        stream,
        erases,
        watches: this.#watches,
        noteFault: this.#faults.ofRecords(bucket),
      });
    } catch (error) {
      throw busError('bucket', error);
    }
  }

  /** Sends a request and returns the answer of the subscriber to `subject`. */
  ask(subject: string, bytes: Uint8Array, timeoutMs: number): Promise<Uint8Array> {
    return this.#requests.send('ask', subject, bytes, timeoutMs);
  }

  /**
   * Answers requests on `subject` until the returned function is called. Every request gets an answer: one that cannot
   * be read, or whose reply fails, is counted and answered as unavailable. `subject` is a kind, a dot and a number.
   */
  answer(subject: string, answering: Answering): () => void {
    const noteFault = this.#faults.ofRequests(subject.replace(/\..*$/, ''));
    const subscription = this.#connection.subscribe(subject, {
      callback: (error, message) => {
        if (error === null)
          void this.#respond(message, answering, noteFault); // Catches everything.
        else noteFault(error);
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

  async #respond(message: Msg, answering: Answering, noteFault: NoteFault): Promise<void> {
    let why: Fault | 'away' = 'away';
    try {
      const answer = await answering.reply(message.data);
      if (answer !== undefined) {
        message.respond(answer);
        return;
      }
    } catch (error) {
      why = noteFault(error);
    }
    try {
      message.respond(answering.unavailable(why));
    } catch (error) {
      noteFault(error);
    }
  }

  /** Flushes the buffer and closes. */
  async close(): Promise<void> {
    if (!this.#connection.isClosed()) await this.#connection.close();
  }

  async #followStatus(log: Logger): Promise<void> {
    for await (const status of this.#connection.status()) {
      if (status.type === 'disconnect') {
        this.#up = false;
        this.#watches.lose();
        log.warn('bus: connection lost, trying again');
      }
      if (status.type === 'reconnect') {
        this.#up = true;
        log.info('bus: connected again');
        this.#watches.resume();
      }
      if (status.type === 'error' && status.permissionContext?.operation === 'publish')
        this.#requests.forbid(status.permissionContext.subject);
    }
  }
}
