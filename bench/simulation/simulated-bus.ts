import type { KV } from 'nats';
import type { Answering, Bus, FollowingMessage } from '../../infra/bus/bus.ts';
import { BusError, busError } from '../../infra/bus/bus-error.ts';
import { BusFaults } from '../../infra/bus/bus-faults.ts';
import { KeyedBytes, type KeyedBytesDeps } from '../../infra/bus/keyed-bytes.ts';
import {
  type ConfirmGap,
  type StreamBounds,
  StreamReader,
  streamBounds,
} from '../../infra/bus/stream-reader.ts';
import type { Logger } from '../../infra/log.ts';
import type { Network } from './network.ts';
import { rejected, SimulatedStreams, silence, wrongLast } from './simulated-streams.ts';
import type { Actor } from './virtual-time.ts';

const TIMEOUT_MS = 5_000;
const MESSAGE_MAX_BYTES = 1_048_576;

/** A record of the bucket as it was written. */
export interface WrittenRecord {
  readonly key: string;
  readonly bytes: Uint8Array;
  readonly revision: number;
}

/** A message of a feed. */
export interface FedMessage {
  readonly subject: string;
  readonly sequence: number;
  readonly bytes: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

interface Responder {
  readonly actor: Actor | undefined;
  readonly answering: Answering;
}

/**
 * The bus as lanes, collectors and query processes use it. Readers of streams and the bucket of records are our own code over
 * a simulated client library; the rest has the meaning of `infra/bus/bus.ts`.
 */
export class SimulatedBus {
  readonly messageMaxBytes = MESSAGE_MAX_BYTES;
  readonly streams: SimulatedStreams;
  /** The values of the bucket now. */
  readonly records = new Map<string, WrittenRecord>();
  readonly feed: FedMessage[] = [];
  readonly #network: Network;
  readonly #faults: BusFaults;
  readonly #responders = new Map<string, Set<Responder>>();
  readonly #onWrite: (record: WrittenRecord) => void;
  #revision = 0;

  constructor(network: Network, log: Logger, onWrite: (record: WrittenRecord) => void) {
    this.#network = network;
    this.#faults = new BusFaults(log);
    this.#onWrite = onWrite;
    this.streams = new SimulatedStreams(network);
  }

  /** For callers that expect the whole bus. They must not use the parts that it lacks. */
  get asBus(): Bus {
    return this as unknown as Bus;
  }

  /** The bucket of records, as a process opens it. */
  keyed(): KeyedBytes {
    const call = <Result>(what: string, act: () => Result) =>
      this.#network.call({ what, act, silence, timeoutMs: TIMEOUT_MS, server: 'bus' });
    const write = (key: string, bytes: Uint8Array, isExpected: (revision: number) => boolean) =>
      call(`put ${key}`, () => {
        if (!isExpected(this.records.get(key)?.revision ?? 0)) {
          this.#network.count('conflicting writes');
          throw wrongLast();
        }
        this.#revision += 1;
        const record = { key, bytes, revision: this.#revision };
        this.records.set(key, record);
        this.#onWrite(record);
        return record.revision;
      });
    const kv = {
      get: (key: string) =>
        call(`get ${key}`, () => {
          const found = this.records.get(key);
          return found === undefined
            ? null
            : { key, value: found.bytes, revision: found.revision, operation: 'PUT' };
        }),
      create: (key: string, bytes: Uint8Array) => write(key, bytes, (revision) => revision === 0),
      update: (key: string, bytes: Uint8Array, expected: number) =>
        write(key, bytes, (revision) => revision === expected),
    };
    return new KeyedBytes(kv as unknown as KV, { erases: false } as KeyedBytesDeps);
  }

  reader(stream: string, sequence: number, confirmGap?: ConfirmGap): StreamReader {
    const { manager, client } = this.streams;
    return new StreamReader(
      { manager, jetstream: client, faults: this.#faults, confirmGap },
      stream,
      sequence,
    );
  }

  async streamBounds(name: string): Promise<StreamBounds> {
    try {
      return await streamBounds(this.streams.manager, name);
    } catch (error) {
      throw busError('stream', error);
    }
  }

  async trim(name: string, sequence: number): Promise<void> {
    try {
      await this.streams.manager.streams.purge(name, { seq: sequence + 1 });
    } catch (error) {
      throw busError('trim', error);
    }
  }

  /** Appends to a stream; the subject of a stream is its name here. */
  async publish(stream: string, bytes: Uint8Array, timeoutMs: number): Promise<number> {
    const act = () => this.streams.append(stream, bytes);
    try {
      return await this.#network.call({ what: `publish ${stream}`, act, silence, timeoutMs, server: 'bus' });
    } catch (error) {
      throw busError('publish', error);
    }
  }

  async append(subject: string, { bytes, headers, after, timeoutMs }: FollowingMessage): Promise<number> {
    const act = () => {
      if ((this.#lastFed(subject)?.sequence ?? 0) !== after) throw wrongLast();
      const sequence = this.feed.length + 1;
      this.feed.push({ subject, sequence, bytes, headers });
      return sequence;
    };
    try {
      return await this.#network.call({ what: `append ${subject}`, act, silence, timeoutMs, server: 'bus' });
    } catch (error) {
      throw busError('append', error);
    }
  }

  async lastOf(_stream: string, subject: string): Promise<FedMessage | undefined> {
    try {
      const act = () => this.#lastFed(subject);
      return await this.#network.call({
        what: `last of ${subject}`,
        act,
        silence,
        timeoutMs: TIMEOUT_MS,
        server: 'bus',
      });
    } catch (error) {
      throw busError('get', error);
    }
  }

  async ensureStream(): Promise<void> {
    // The streams of the simulation exist.
  }

  broadcast(): void {
    // Collectors that listen are no part of the simulation.
  }

  answer(subject: string, answering: Answering): () => void {
    const responder = { actor: this.#network.time.actor, answering };
    const known = this.#responders.get(subject) ?? new Set();
    this.#responders.set(subject, known);
    known.add(responder);
    return () => known.delete(responder);
  }

  /** The first answer of the responders on the subject: for a moment there may be two. */
  ask(subject: string, bytes: Uint8Array, timeoutMs: number): Promise<Uint8Array> {
    const { time } = this.#network;
    const alive = [...(this.#responders.get(subject) ?? [])].filter(
      ({ actor }) => actor === undefined || (actor.isAlive && actor.cutOffUntilMs <= time.nowMs),
    );
    if (alive.length > 1) this.#network.count('questions that two owners heard');
    const act = () => {
      if (alive.length === 0) throw rejected(503, 'no responders');
      return new Promise<Uint8Array>((resolve) => {
        for (const { actor, answering } of alive) {
          time.plan(this.#network.delayMs(), actor, `asked ${subject}`, () => {
            void respond(answering, bytes).then((answer) => {
              if (actor?.isAlive !== false) resolve(answer);
            });
          });
        }
      });
    };
    return this.#network
      .call({ what: `ask ${subject}`, act, silence, timeoutMs, server: 'bus' })
      .catch((error: unknown) => {
        const reason =
          busError('ask', error) instanceof BusError && alive.length > 0 ? 'timeout' : 'no-responders';
        throw new BusError('no answer', reason, error);
      });
  }

  #lastFed(subject: string): FedMessage | undefined {
    return this.feed.findLast((message) => message.subject === subject);
  }
}

/** Responds like `Bus`: every request gets an answer. */
async function respond({ reply, unavailable }: Answering, bytes: Uint8Array): Promise<Uint8Array> {
  try {
    return (await reply(bytes)) ?? unavailable('away');
  } catch {
    return unavailable('failed');
  }
}
