import { BusError } from '../../infra/bus/bus-error.ts';
import { DecodeError } from '../../infra/bus/decode-error.ts';
import type { StreamMessage, StreamReader } from '../../infra/bus/stream-reader.ts';
import { backoffMs } from '../../infra/concurrency/backoff.ts';
import { Notify } from '../../infra/concurrency/notify.ts';
import { StoreError } from '../../infra/store/store.ts';
import { decodeEntityUpdates, type EntityUpdate, entityStreamOf } from '../../ingest/entity-update.ts';
import { decodeMessageHead, type MessageHead } from '../../ingest/event.ts';
import { publishDeadLetter } from '../dead-letters/dead-letter.ts';
import { decodeEraseCommands, type EraseCommand } from '../fold/erase-command.ts';
import { EventView } from '../fold/event-view.ts';
import { applyUpdate, type EntityDocument } from './document.ts';
import { EntityBook, type EntityName, entityKey, entityNameOf } from './entity-book.ts';
import {
  decodeEntityCheckpoint,
  entityCheckpointKeyOf,
  FIRST_ENTITY_CHECKPOINT,
} from './entity-checkpoint.ts';
import { ENTITY_RETRY, type EntityDeps, writeEntities } from './entity-flush.ts';
import { loadEntities } from './entity-store.ts';
import { ErasedEntities, entityVersionOf } from './erased.ts';
import type { RecordedRevenue } from './order.ts';
import { revenueMessages } from './revenue-event.ts';

const READ_MESSAGES = 32;
const READ_WAIT_MS = 15_000;
/** Records reach the store this long after their first change, so that whoever reads the tables is within a second. */
const FLUSH_AFTER_MS = 600;
/** Changed records that wait for the store; above it the lane reads no further. */
const DIRTY_ENTITIES_MAX = 100_000;
const DIRTY_CHARS_MAX = 67_108_864;
/** Records asked of the store at once. */
const LOAD_MAX = 5_000;
/** Publishers remembered; a publisher gives a message up within seconds. */
const PUBLISHERS_MAX = 4_096;
/** Messages that wait to be worked off; above it the lane reads no further. */
const PENDING_BYTES_MAX = 16_777_216;
/** Without changes the checkpoint still moves on this often. */
const IDLE_CHECKPOINT_MS = 30_000;
const CATCH_UP_MAX_MS = 2_000;
/** Nothing is reached before the store is back, so nobody waits long for it. */
const CATCH_UP_AWAY_MS = 50;
const PUBLISH_TIMEOUT_MS = 10_000;

/** A message of the bus, read. */
interface ReadMessage {
  readonly sequence: number;
  readonly head: MessageHead;
  readonly updates: readonly EntityUpdate[];
  readonly forgettings: readonly EraseCommand[] | undefined;
}

/** Records by their keys; undefined for one that does not exist. */
type KnownEntities = Map<string, EntityDocument | undefined>;

interface Waiter {
  readonly sequence: number;
  readonly settle: () => void;
}

/**
 * The records of one partition, from the bus to the store. A record is a function of its stream: whoever works the
 * stream off comes to the same documents with the same versions, so repeating work changes nothing.
 *
 *     read ─▶ load what is not in memory ─▶ apply ─▶ publish recorded revenue ─▶ book ─▶ insert ─▶ checkpoint ─▶ forget
 *
 * A stored document names the last message that it holds. After a crash the same messages come again; those that a
 * document holds already pass it by, and revenue that was published already is told by its number.
 */
export class EntityLane {
  readonly #options: EntityDeps;
  readonly #book: EntityBook;
  readonly #publishers = new Map<string, number>();
  readonly #forgotten = new ErasedEntities();
  #streamCreatedMs = 0;
  #publisherId = 0n;
  #revision = 0;
  #checkpointSequence = 0;
  #appliedSequence = 0;
  #reader: StreamReader | undefined;
  #pending: StreamMessage[] = [];
  #pendingBytes = 0;
  #working: Promise<void> | undefined;
  /** The updates that are being worked off; while the store is away they wait for it. */
  #held: readonly EntityUpdate[] = [];
  /** 0 when nothing waits for a flush. */
  #flushDueMs = 0;
  #storeAway = false;
  #stopping = false;
  #failure: unknown;
  readonly #notify = new Notify();
  #waiters: Waiter[] = [];

  constructor(options: EntityDeps) {
    this.#options = options;
    this.#book = new EntityBook(options.bookLimits);
  }

  /** Reads, applies and flushes until `stop` or an error. Rejects with what stopped it. */
  async run(): Promise<void> {
    await this.#restore();
    const flushing = this.#flushLoop();
    try {
      await this.#readLoop();
    } catch (error) {
      this.#fail(error);
    }
    await flushing;
    await this.#reader?.close();
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Reads no more, brings what is in memory to the store once, and returns. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#notify.wake();
    await this.#reader?.close();
  }

  /**
   * The record as every update makes it that the bus has now; `unavailable` when that cannot be said. While the store
   * is away, a record that was not in memory is what the updates make of it that wait for the store.
   */
  async read(name: EntityName): Promise<EntityDocument | 'absent' | 'unavailable'> {
    await this.#catchUp();
    const known = await this.#tryLoad([name]);
    if (known !== undefined) return known.get(entityKey(name)) ?? 'absent';
    return this.#provisional(name) ?? 'unavailable';
  }

  async #restore(): Promise<void> {
    const { bus, records, partition } = this.#options;
    const stored = await records.get(entityCheckpointKeyOf(partition));
    const checkpoint =
      stored?.bytes === undefined ? FIRST_ENTITY_CHECKPOINT : decodeEntityCheckpoint(stored.bytes);
    this.#revision = stored?.revision ?? 0;
    for (const [publisher, sequence] of checkpoint.publishers) this.#publishers.set(publisher, sequence);
    this.#checkpointSequence = checkpoint.sequence;
    this.#appliedSequence = checkpoint.sequence;
    this.#streamCreatedMs = await bus.streamCreatedMs(entityStreamOf(partition));
    const bornS = BigInt(Math.floor(this.#streamCreatedMs / 1000));
    this.#publisherId = (0x7ec0n << 48n) | (BigInt(partition) << 32n) | bornS;
  }

  async #readLoop(): Promise<void> {
    const { bus, partition, random } = this.#options;
    for (let attempt = 0; !this.#stopping; ) {
      this.#reader ??= bus.reader(entityStreamOf(partition), this.#appliedSequence + 1);
      try {
        await this.#reader.read(READ_MESSAGES, READ_WAIT_MS, (message) => this.#take(message));
        attempt = 0;
      } catch (error) {
        if (this.#stopping) break;
        if (!(error instanceof BusError) || !error.retryable) throw error;
        await this.#notify.sleep(backoffMs(ENTITY_RETRY, attempt, random()));
        attempt += 1;
      }
      while (this.#pendingBytes >= PENDING_BYTES_MAX && !this.#stopping) await this.#working;
    }
    await this.#working;
  }

  /** Takes a message from the reader; false when it should pause. */
  #take(message: StreamMessage): boolean {
    this.#pending.push(message);
    this.#pendingBytes += message.bytes.length;
    this.#options.gauges.lagMessages.set(this.#pending.length);
    this.#working ??= this.#workPending();
    return !this.#stopping && this.#pendingBytes < PENDING_BYTES_MAX;
  }

  async #workPending(): Promise<void> {
    try {
      while (this.#pending.length > 0 && !this.#stopping) {
        const taken = this.#pending.splice(0, READ_MESSAGES);
        await this.#work(taken);
        for (const { bytes } of taken) this.#pendingBytes -= bytes.length;
        this.#options.gauges.lagMessages.set(this.#pending.length);
        while (this.#isFull() && !this.#stopping) await this.#notify.sleep(FLUSH_AFTER_MS);
      }
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#working = undefined;
    }
  }

  #isFull(): boolean {
    return this.#book.dirtyEntities >= DIRTY_ENTITIES_MAX || this.#book.dirtyChars >= DIRTY_CHARS_MAX;
  }

  /** Works messages off in their order, after loading at once what all of them need. */
  async #work(messages: readonly StreamMessage[]): Promise<void> {
    const read: ReadMessage[] = [];
    for (const message of messages) {
      const known = readMessage(message);
      if (!(known instanceof DecodeError)) read.push(known);
      else {
        await publishDeadLetter({ ...this.#options, stream: 'records' }, message, known.message);
        this.#options.metrics.deadLetters.add();
      }
    }
    this.#held = read.flatMap(({ updates }) => updates);
    const known = await this.#load(this.#held.map(entityNameOf));
    if (known === undefined) return; // Stopping: the bus keeps them.
    for (const message of read) {
      await this.#apply(message, known);
      if (this.#stopping) return; // What was not applied stays on the bus.
    }
    this.#held = [];
    this.#reach(messages.at(-1)?.sequence ?? 0);
  }

  /** Applies a message to the records that are known, and changes them there and in the book. */
  async #apply({ sequence, head, updates, forgettings }: ReadMessage, known: KnownEntities): Promise<void> {
    const publisher = head.publisherId.toString(36);
    if (head.publisherSequence <= (this.#publishers.get(publisher) ?? 0)) {
      this.#options.metrics.updates.repeat.add(updates.length);
      this.#reach(sequence);
      return;
    }
    const version = entityVersionOf(this.#streamCreatedMs, sequence);
    if (forgettings !== undefined) {
      const isMeant = this.#forgotten.note(forgettings, version);
      this.#book.forget(isMeant);
      for (const key of [...known.keys()]) if (isMeant(key)) known.delete(key);
      this.#scheduleFlush(); // Whoever told to forget waits for the checkpoint.
    }
    const changed = new Map<string, EntityDocument>();
    const recorded: RecordedRevenue[] = [];
    for (const update of updates) {
      const key = entityKey(entityNameOf(update));
      const stored = known.get(key);
      // The store had it with this message already: a crash came between the insert and the checkpoint.
      if (stored !== undefined && stored.version >= version) continue;
      const result = applyUpdate(changed.get(key) ?? stored, update, version);
      this.#options.metrics.updates[result.outcome].add();
      for (const outcome of result.settled) this.#options.metrics.updates[outcome].add();
      if (result.changed) changed.set(key, result.document);
      recorded.push(...result.recorded);
    }
    const origin = { publisherId: this.#publisherId, sequence, sentAtMs: head.sentAtMs };
    for (const { subject, bytes } of revenueMessages(recorded, origin)) {
      if (!(await this.#publish(subject, bytes))) return; // Stopping: the bus keeps the message.
    }
    this.#options.crashPoint('entities:after-publish');
    // Only now: a document in the store says that its revenue is on the bus.
    for (const [key, document] of changed) {
      this.#book.change(document);
      known.set(key, document);
    }
    this.#notePublisher(publisher, head.publisherSequence);
    this.#reach(sequence);
    if (changed.size > 0) this.#scheduleFlush();
  }

  #notePublisher(publisher: string, sequence: number): void {
    this.#publishers.delete(publisher);
    this.#publishers.set(publisher, sequence);
    if (this.#publishers.size <= PUBLISHERS_MAX) return;
    for (const oldest of this.#publishers.keys()) {
      this.#publishers.delete(oldest);
      break;
    }
  }

  /** Publishes until the bus has it; false when the lane stops before. */
  async #publish(subject: string, bytes: Uint8Array): Promise<boolean> {
    const { bus, random } = this.#options;
    for (let attempt = 0; !this.#stopping; attempt += 1) {
      try {
        await bus.publish(subject, bytes, PUBLISH_TIMEOUT_MS);
        return true;
      } catch (error) {
        if (!(error instanceof BusError) || !error.retryable) throw error;
      }
      await this.#notify.sleep(backoffMs(ENTITY_RETRY, attempt, random()));
    }
    return false;
  }

  /**
   * The records of these names, waiting for a store that is away; undefined when the lane stops before. They are
   * handed over rather than left to the book, which forgets when there are many.
   */
  async #load(names: readonly EntityName[]): Promise<KnownEntities | undefined> {
    for (let attempt = 0; !this.#stopping; attempt += 1) {
      const known = await this.#tryLoad(names);
      if (known !== undefined) {
        for (const name of names) this.#book.learn(name, known.get(entityKey(name)));
        return known;
      }
      this.#options.metrics.storeRetries.add();
      await this.#notify.sleep(backoffMs(ENTITY_RETRY, attempt, this.#options.random()));
    }
    return undefined;
  }

  /**
   * Undefined when the store would have to say, and is away. The book learns nothing here: what a question loads may be
   * old by the time it arrives.
   */
  async #tryLoad(names: readonly EntityName[]): Promise<KnownEntities | undefined> {
    const { store, log, partition } = this.#options;
    const known: KnownEntities = new Map();
    const unknown = new Map<string, EntityName>();
    for (const name of names) {
      const key = entityKey(name);
      if (this.#book.knows(name)) known.set(key, this.#book.find(name));
      else unknown.set(key, name);
    }
    try {
      const missing = [...unknown.values()];
      for (let start = 0; start < missing.length; start += LOAD_MAX) {
        for (const { name, document } of await loadEntities(store, missing.slice(start, start + LOAD_MAX))) {
          const isGone = document !== undefined && this.#forgotten.has(name, document);
          known.set(entityKey(name), isGone ? undefined : document);
        }
      }
      if (missing.length > 0) this.#storeAway = false;
      return known;
    } catch (error) {
      if (!(error instanceof StoreError) || error.kind !== 'retryable') throw error;
      if (!this.#storeAway)
        log.warn({ partition, reason: error.message }, 'entities: the store is away; waiting');
      this.#storeAway = true;
      return undefined;
    }
  }

  #scheduleFlush(): void {
    if (this.#flushDueMs !== 0) return;
    this.#flushDueMs = this.#options.clock.nowMs() + FLUSH_AFTER_MS;
    this.#notify.wake();
  }

  async #flushLoop(): Promise<void> {
    try {
      while (this.#failure === undefined) {
        const restMs =
          this.#flushDueMs === 0 ? IDLE_CHECKPOINT_MS : this.#flushDueMs - this.#options.clock.nowMs();
        if (!this.#stopping && restMs > 0) await this.#notify.sleep(restMs);
        const isLast = this.#stopping;
        if (isLast) await this.#working;
        if (isLast || this.#flushDueMs === 0 || this.#flushDueMs <= this.#options.clock.nowMs())
          await this.#flush();
        if (isLast) return;
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Brings everything that was applied to the store; while the lane stops it tries once, since the bus keeps it. */
  async #flush(): Promise<void> {
    const sequence = this.#appliedSequence;
    this.#flushDueMs = 0;
    if (sequence === this.#checkpointSequence) return;
    const documents = this.#book.dirty();
    const flush = {
      documents,
      checkpoint: { version: 1, sequence, publishers: [...this.#publishers] } as const,
      revision: this.#revision,
    };
    const revision = await writeEntities(this.#options, flush, {
      isStopping: () => this.#stopping,
      sleep: (ms) => this.#notify.sleep(ms),
    });
    if (revision === undefined) return;
    this.#revision = revision;
    this.#checkpointSequence = sequence;
    this.#book.settle(documents);
    this.#options.gauges.dirtyEntities.set(this.#book.dirtyEntities);
  }

  /** Waits until everything that the bus has now is applied, but not for long. */
  async #catchUp(): Promise<void> {
    const { bus, partition, gauges } = this.#options;
    const { last } = await bus.streamBounds(entityStreamOf(partition));
    gauges.lagMessages.set(Math.max(0, last - this.#appliedSequence));
    if (this.#appliedSequence >= last) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => waiter.settle(), this.#storeAway ? CATCH_UP_AWAY_MS : CATCH_UP_MAX_MS);
      const waiter: Waiter = {
        sequence: last,
        settle: () => {
          clearTimeout(timer);
          this.#waiters = this.#waiters.filter((other) => other !== waiter);
          resolve();
        },
      };
      this.#waiters.push(waiter);
    });
  }

  #reach(sequence: number): void {
    if (sequence <= this.#appliedSequence) return;
    this.#appliedSequence = sequence;
    for (const waiter of this.#waiters) if (waiter.sequence <= sequence) waiter.settle();
  }

  /** What the waiting updates make of a record that cannot be loaded: less than all, and better than nothing. */
  #provisional(name: EntityName): EntityDocument | undefined {
    let document: EntityDocument | undefined;
    const waiting = this.#pending.map(readMessage).flatMap((read) => ('updates' in read ? read.updates : []));
    for (const update of [...this.#held, ...waiting]) {
      const { kind, projectId, id } = entityNameOf(update);
      if (kind === name.kind && projectId === name.projectId && id === name.id)
        document = applyUpdate(document, update, 0n).document;
    }
    return document;
  }

  #fail(error: unknown): void {
    this.#failure ??= error;
    this.#stopping = true;
    this.#notify.wake();
    void this.#reader?.close(); // The read loop ends with it; a failed close costs nothing.
  }
}

/** What a message says, or why it cannot be read. */
function readMessage({ sequence, bytes }: StreamMessage): ReadMessage | DecodeError {
  try {
    const head = decodeMessageHead(bytes);
    const forgettings = head.count === 0 ? decodeEraseCommands(bytes) : undefined;
    const updates = forgettings === undefined ? decodeEntityUpdates(bytes, head.count) : [];
    // Later, when the event is recorded, it would be too late to reject it.
    for (const update of updates)
      if (update.kind === 'order') new EventView().read(Buffer.from(update.event), 0);
    return { sequence, head, updates, forgettings };
  } catch (error) {
    if (error instanceof DecodeError) return error;
    throw error;
  }
}
