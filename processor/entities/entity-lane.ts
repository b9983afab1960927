import type { StoredId } from '../../infra/accounts/ids.ts';
import { DecodeError } from '../../infra/bus/decode-error.ts';
import type { StreamMessage } from '../../infra/bus/stream-reader.ts';
import { Notify } from '../../infra/concurrency/notify.ts';
import { isRetryable } from '../../infra/concurrency/retry.ts';
import { Semaphore } from '../../infra/concurrency/semaphore.ts';
import { reasonOf } from '../../infra/log.ts';
import { publisherKeyOf } from '../../infra/process/lane-ends.ts';
import { StreamConsumer } from '../consumer/stream-consumer.ts';
import { publishDeadLetter } from '../dead-letters/dead-letter.ts';
import { type SiteValues, setAside } from '../dead-letters/set-aside.ts';
import { shortReasonOf } from '../fold/set-aside.ts';
import { type AppliedUpdate, applyUpdate, type EntityDocument, type ReadUpdate } from './document.ts';
import type { ReadEntity } from './entity-answer.ts';
import { EntityBook, type EntityName, entityKey, entityNameOf } from './entity-book.ts';
import { decodeEntityCheckpoint, FIRST_ENTITY_CHECKPOINT } from './entity-checkpoint.ts';
import { type EntityDeps, writeEntities } from './entity-flush.ts';
import { type LoadedEntity, loadEntities } from './entity-store.ts';
import { ErasedEntities, entityVersionOf } from './erased.ts';
import type { RecordedRevenue } from './order.ts';
import { type ReadMessage, readMessage } from './read-message.ts';
import { revenueMessages } from './revenue-event.ts';
import { UnstorableEntities, UnstorableError } from './unstorable.ts';

/** Messages that are read, and applied, together: their entities are loaded with one query. */
const MESSAGES_PER_APPLY = 128;
/** A query of the store costs as much as a hundred events. */
const APPLY_PACE_MS = 100;
/** Entities reach the store this long after their first change, so that the tables are no more than a second behind. */
const FLUSH_AFTER_MS = 600;
/** Changed entities that wait for the store, and their characters; above either the lane applies nothing more. */
const DIRTY_ENTITIES_MAX = 100_000;
const DIRTY_CHARS_MAX = 67_108_864;
/** Entities in one query of the store. */
const LOAD_MAX = 5_000;
/**
 * Maximum number of publishers whose last message is remembered. The longest silent one is evicted: a publisher retries
 * a message for seconds only.
 */
const PUBLISHERS_MAX = 4_096;
/** Without changes the checkpoint still moves on this often. */
const IDLE_CHECKPOINT_MS = 30_000;
const CATCH_UP_MAX_MS = 2_000;
/** While the store is unavailable nothing is reached, so a question does not wait long for it. */
const CATCH_UP_AWAY_MS = 50;
/** Several times the time that a change takes to the store. */
const STORED_MAX_MS = 2_500;
const PUBLISH_TIMEOUT_MS = 10_000;

/** Entities by their keys; undefined for a missing one. */
type KnownEntities = Map<string, EntityDocument | undefined>;

/**
 * The entities of one lane, from the bus to the store. An entity is a function of its stream: every owner that applies the stream gets the
 * same documents with the same versions, so repeating work changes nothing.
 *
 *     read ─▶ load what is not in memory ─▶ apply ─▶ publish recorded revenue ─▶ book ─▶ insert ─▶ checkpoint ─▶ trim
 *
 * A stored document names the last message it contains. After a crash the same messages come again; a document skips the messages it
 * contains, and the fold skips revenue that was already published, by its number.
 */
export class EntityLane {
  readonly #options: EntityDeps;
  readonly #consumer: StreamConsumer;
  readonly #book: EntityBook;
  readonly #publishers = new Map<string, number>();
  readonly #erased = new ErasedEntities();
  readonly #unstorable: UnstorableEntities;
  /** One permit, for work that changes entities and for work that needs them unchanged. */
  readonly #turns = new Semaphore(1);
  #streamCreatedMs = 0;
  #publisherId = 0n;
  #revision = 0;
  #checkpointSequence = 0;
  /** Time at which changes are due in the store; without changes, time of the next checkpoint. */
  #flushDueMs: number;
  #hasChanges = false;
  #storeAway = false;
  /** Wakes callers that wait for a flush. */
  readonly #flushed = new Notify();

  /** `unstorable`: findings of the lanes before this one, if any. */
  constructor(options: EntityDeps, unstorable = new UnstorableEntities()) {
    this.#options = options;
    this.#unstorable = unstorable;
    this.#book = new EntityBook(options.bookLimits);
    this.#flushDueMs = performance.now() + IDLE_CHECKPOINT_MS;
    const { stream, metrics, gauges } = options;
    this.#consumer = new StreamConsumer({
      ...options,
      stream,
      messagesPerRead: MESSAGES_PER_APPLY,
      messagesPerApply: MESSAGES_PER_APPLY,
      applyEveryMs: APPLY_PACE_MS,
      readRetries: metrics.readRetries,
      lagMessages: gauges.lagMessages,
      work: {
        apply: (messages) => this.#turns.run(() => this.#applyAll(messages)),
        isFull: () => this.#isFull(),
        flushDueMs: () => this.#flushDueMs,
        flush: () => this.#flush(),
      },
    });
  }

  /** Reads, applies and flushes until `stop` or an error. Rejects with the error. */
  async run(): Promise<void> {
    try {
      await this.#restore();
      await this.#consumer.run();
    } finally {
      this.#flushed.end();
    }
  }

  /**
   * Waits up to `maxMs` until everything on the stream now is applied; false if it is not.
   * @throws {BusError} when the bus does not give the state of the stream
   */
  catchUp(maxMs: number): Promise<boolean> {
    return this.#consumer.catchUp(maxMs);
  }

  /** Stops reading, flushes memory to the store once, and returns. */
  stop(): Promise<void> {
    return this.#consumer.stop();
  }

  /** Everything up to this message is in the store. */
  get checkpointSequence(): number {
    return this.#checkpointSequence;
  }

  /** True once the lane stops reading. */
  get isStopping(): boolean {
    return this.#consumer.stopping;
  }

  /** Resolves after `ms`, or when the lane stops. */
  sleep(ms: number): Promise<void> {
    return this.#consumer.sleep(ms);
  }

  /**
   * The entity after all updates on the bus; `unavailable` if unknown. While the store is unavailable, an entity that was not in memory is
   * built only from the updates waiting for the store.
   */
  async read(name: EntityName): Promise<ReadEntity> {
    await this.#consumer.catchUp(this.#storeAway ? CATCH_UP_AWAY_MS : CATCH_UP_MAX_MS);
    if (this.#consumer.failed) return { kind: 'unavailable' }; // The next lane has the state that this one lacks.
    try {
      const document = (await this.#find([name])).get(entityKey(name));
      return document === undefined ? { kind: 'absent' } : { kind: 'known', document };
    } catch (error) {
      if (!isRetryable(error)) throw error;
      const document = this.#provisional(name);
      return document === undefined ? { kind: 'unavailable' } : { kind: 'provisional', document };
    }
  }

  /**
   * Waits until the store has every profile and group of the site that updates on the bus have changed; false when that cannot be
   * said in time. It causes no flush of its own, because many small inserts would burden the store.
   */
  async untilStored(projectId: StoredId): Promise<boolean> {
    const endMs = performance.now() + STORED_MAX_MS;
    if (!(await this.#consumer.catchUp(STORED_MAX_MS))) return false;
    const { sequence } = this.#consumer;
    while (this.#checkpointSequence < sequence && this.#book.hasDirtyPeople(projectId)) {
      const restMs = endMs - performance.now();
      if (restMs <= 0 || this.#consumer.stopping) return false;
      await this.#flushed.sleep(restMs);
    }
    return !this.#consumer.failed;
  }

  /**
   * Brings everything that the bus has now to the store, and runs `work`. Nothing more is applied until it is over, so the store has the
   * lane's state, and the revenue of all its orders is on the bus.
   * @throws {Error} when the lane is behind or stops before
   */
  async atRest<Result>(maxMs: number, work: () => Promise<Result>): Promise<Result> {
    if (!(await this.#consumer.catchUp(maxMs))) throw new Error('the entity lane is behind or stops');
    return this.#turns.run(async () => {
      await this.#consumer.flushNow();
      if (this.#consumer.stopping) throw new Error('the entity lane stops');
      return work();
    });
  }

  async #restore(): Promise<void> {
    const { bus, records, lane, stream, checkpointKey } = this.#options;
    const stored = await records.get(checkpointKey);
    const checkpoint =
      stored?.bytes === undefined ? FIRST_ENTITY_CHECKPOINT : decodeEntityCheckpoint(stored.bytes);
    this.#revision = stored?.revision ?? 0;
    for (const [publisher, sequence] of checkpoint.publishers) this.#publishers.set(publisher, sequence);
    this.#checkpointSequence = checkpoint.sequence;
    this.#consumer.reached(checkpoint.sequence);
    this.#streamCreatedMs = await bus.streamCreatedMs(stream);
    const bornS = BigInt(Math.floor(this.#streamCreatedMs / 1000));
    this.#publisherId = (0x7ec0n << 48n) | (BigInt(lane) << 32n) | bornS;
  }

  #isFull(): boolean {
    return this.#book.dirtyEntities >= DIRTY_ENTITIES_MAX || this.#book.dirtyChars >= DIRTY_CHARS_MAX;
  }

  /** Applies messages in their order, after loading the entities of all of them; false when the lane stops before. */
  async #applyAll(messages: readonly StreamMessage[]): Promise<boolean> {
    const read: ReadMessage[] = [];
    for (const message of messages) {
      const known = readMessage(message);
      if (!(known instanceof DecodeError)) read.push(known);
      else {
        await publishDeadLetter({ ...this.#options, stream: 'records' }, message, known.message);
        this.#options.metrics.deadLetters.add();
      }
    }
    // Messages that need nothing from the store go first, so they do not wait for an unavailable store.
    const isReady = ({ updates }: ReadMessage) =>
      updates.every(({ update }) => this.#book.knows(entityNameOf(update)));
    const firstUnready = read.findIndex((message) => !isReady(message));
    const ready = firstUnready === -1 ? read : read.slice(0, firstUnready);
    for (const part of [ready, read.slice(ready.length)]) {
      if (part.length === 0) continue;
      const known = await this.#load(
        part.flatMap(({ updates }) => updates.map(({ update }) => entityNameOf(update))),
      );
      if (known === undefined) return false;
      for (const message of part) {
        if (!(await this.#apply(message, known))) return false;
      }
    }
    this.#consumer.reached(messages.at(-1)?.sequence ?? 0);
    return true;
  }

  /** Applies a message, and changes its entities in `known` and in the book; false when the lane stops before. */
  async #apply(read: ReadMessage, known: KnownEntities): Promise<boolean> {
    if (this.#consumer.stopping) return false;
    const { message, head, updates, erasures } = read;
    const { sequence } = message;
    const publisher = publisherKeyOf(head.publisherId);
    if (head.publisherSequence <= (this.#publishers.get(publisher) ?? 0)) {
      this.#options.metrics.updates.repeat.add(updates.length);
      this.#consumer.reached(sequence);
      return true;
    }
    const version = entityVersionOf(this.#streamCreatedMs, sequence);
    if (erasures !== undefined) {
      const isMeant = this.#erased.note(erasures, version);
      this.#book.erase(isMeant);
      for (const key of [...known.keys()]) if (isMeant(key)) known.delete(key);
      this.#scheduleFlush(); // The purge waits for the checkpoint.
    }
    const changed = new Map<string, EntityDocument>();
    const recorded: RecordedRevenue[] = [];
    const unstorable: SiteValues[] = [...read.unreadable];
    for (const { index, update } of updates) {
      const key = entityKey(entityNameOf(update));
      const stored = known.get(key);
      // The store has it with this message: a crash came between the insert and the checkpoint.
      if (stored !== undefined && stored.version >= version) continue;
      const result = this.#applyOne(changed.get(key) ?? stored, { update, version, key });
      if (typeof result === 'string') {
        unstorable.push({ projectId: update.projectId, indexes: new Set([index]), reason: result });
        continue;
      }
      this.#options.metrics.updates[result.outcome].add();
      for (const outcome of result.waitedOutcomes) this.#options.metrics.updates[outcome].add();
      if (result.changed) changed.set(key, result.document);
      recorded.push(...result.recorded);
    }
    await this.#setAside(message, unstorable);
    const origin = { publisherId: this.#publisherId, sequence, sentAtMs: head.sentAtMs };
    for (const { subject, bytes } of revenueMessages(recorded, origin, this.#options.eventSubjectOf)) {
      if (!(await this.#publish(subject, bytes))) return false;
    }
    this.#options.crashPoint('entities:after-publish');
    // Only now: a stored document means that its revenue is on the bus.
    for (const [key, document] of changed) {
      this.#book.change(document);
      known.set(key, document);
    }
    this.#notePublisher(publisher, head.publisherSequence);
    this.#consumer.reached(sequence);
    if (changed.size > 0) this.#scheduleFlush();
    return true;
  }

  /** Applies an update, or returns why it cannot. Documents never change, so nothing is left half-done. */
  #applyOne(
    document: EntityDocument | undefined,
    { update, version, key }: { readonly update: ReadUpdate; readonly version: bigint; readonly key: string },
  ): AppliedUpdate | string {
    const refused = this.#unstorable.reasonOf(key, version);
    if (refused !== undefined) return refused;
    try {
      return applyUpdate(document, update, version);
    } catch (error) {
      return shortReasonOf(error);
    }
  }

  async #setAside(message: StreamMessage, values: readonly SiteValues[]): Promise<void> {
    if (values.length === 0) return;
    const { stream, clock, metrics } = this.#options;
    const origin = { ...this.#options, stream: 'records', streamName: stream, nowMs: clock.nowMs() } as const;
    await setAside(origin, message, values);
    metrics.setAside.add(values.length);
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
    const { bus, metrics } = this.#options;
    const publish = { operation: 'publication of revenue', retries: metrics.busRetries };
    const sequence = await this.#consumer.retry(publish, () =>
      bus.publish(subject, bytes, PUBLISH_TIMEOUT_MS),
    );
    return sequence !== undefined;
  }

  /**
   * Loads the entities of these names, waiting while the store is unavailable; undefined when the lane stops before. They are handed over
   * because the book evicts when there are many.
   */
  async #load(names: readonly EntityName[]): Promise<KnownEntities | undefined> {
    const load = { operation: 'load of entities', retries: this.#options.metrics.storeRetries };
    const known = await this.#consumer.retry(load, () => this.#find(names));
    if (known !== undefined) for (const name of names) this.#book.learn(name, known.get(entityKey(name)));
    return known;
  }

  /**
   * The entities of these names, from memory and from the store. The book learns nothing here: entities loaded for a question may be old by
   * the time they arrive.
   */
  async #find(names: readonly EntityName[]): Promise<KnownEntities> {
    const known: KnownEntities = new Map();
    const unknown = new Map<string, EntityName>();
    for (const name of names) {
      const key = entityKey(name);
      if (this.#book.knows(name)) known.set(key, this.#book.find(name));
      else unknown.set(key, name);
    }
    const missing = [...unknown.values()];
    for (let start = 0; start < missing.length; start += LOAD_MAX) {
      for (const { name, document } of await this.#fromStore(missing.slice(start, start + LOAD_MAX))) {
        const isGone = document !== undefined && this.#erased.has(name, document);
        known.set(entityKey(name), isGone ? undefined : document);
      }
    }
    return known;
  }

  async #fromStore(names: readonly EntityName[]): Promise<readonly LoadedEntity[]> {
    const { store, log, lane } = this.#options;
    try {
      const loaded = await loadEntities(store, names);
      this.#storeAway = false;
      return loaded;
    } catch (error) {
      if (isRetryable(error) && !this.#storeAway)
        log.warn({ lane, reason: reasonOf(error) }, 'the store is away, entities wait for it');
      this.#storeAway = isRetryable(error);
      throw error;
    }
  }

  #scheduleFlush(): void {
    if (this.#hasChanges) return;
    this.#hasChanges = true;
    this.#flushDueMs = performance.now() + FLUSH_AFTER_MS;
    this.#consumer.reconsider();
  }

  /** Flushes everything that was applied; while the lane stops it tries only once, since the bus retains the rest. */
  async #flush(): Promise<void> {
    const { sequence } = this.#consumer;
    this.#hasChanges = false;
    this.#flushDueMs = performance.now() + IDLE_CHECKPOINT_MS;
    if (sequence === this.#checkpointSequence) return;
    const documents = this.#book.dirty();
    const flush = {
      documents,
      checkpoint: { version: 1, sequence, publishers: [...this.#publishers] } as const,
      revision: this.#revision,
    };
    const revision = await writeEntities(this.#options, flush, this.#consumer).catch((error: unknown) => {
      if (error instanceof UnstorableError)
        this.#unstorable.note(error, entityVersionOf(this.#streamCreatedMs, sequence));
      throw error;
    });
    if (revision === undefined) return;
    this.#revision = revision;
    this.#checkpointSequence = sequence;
    this.#book.settle(documents);
    this.#flushed.wake();
    this.#options.gauges.dirtyEntities.set(this.#book.dirtyEntities);
  }

  /**
   * Builds an entity that cannot be loaded from the waiting updates: incomplete, but better than nothing. Undefined for an order, since a
   * waiting one may be a repeat.
   */
  #provisional(name: EntityName): EntityDocument | undefined {
    if (name.kind === 'order') return undefined;
    const key = entityKey(name);
    let document: EntityDocument | undefined;
    for (const message of this.#consumer.unapplied.map(readMessage)) {
      if (message instanceof DecodeError) continue;
      for (const { update } of message.updates)
        if (entityKey(entityNameOf(update)) === key) document = applyUpdate(document, update, 0n).document;
    }
    return document;
  }
}
