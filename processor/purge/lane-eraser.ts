import { randomBytes } from 'node:crypto';
import { must } from '../../infra/assert.ts';
import type { Bus } from '../../infra/bus/bus.ts';
import type { KeyedBytes, KeyedValue } from '../../infra/bus/keyed-bytes.ts';
import type { Clock } from '../../infra/clock.ts';
import { type Logger, reasonOf } from '../../infra/log.ts';
import { LANES_MAX, type LaneName } from '../../infra/process/service-lanes.ts';
import { entityStreamOf, entitySubjectOf } from '../../ingest/entity-update.ts';
import { subjectOf } from '../../ingest/event.ts';
import { decodeEntityCheckpoint, entityCheckpointKeyOf } from '../entities/entity-checkpoint.ts';
import { entityVersionOf } from '../entities/erased.ts';
import { type EraseCommand, encodeEraseCommands, eraseCommandIdOf } from '../fold/erase-command.ts';
import { type Checkpoint, decodeLaneRecord, FIRST_CHECKPOINT, laneKeyOf } from '../lane/lane-record.ts';
import type { LeaderJob } from '../leader-job/leader-job.ts';
import { EVERY_FLUSH } from '../rows.ts';
import type { PostponeReason, PurgeMetrics } from './purge-metrics.ts';

const PUBLISH_TIMEOUT_MS = 10_000;
/** A lane that takes longer is stuck: its owner is paused, or it has none. A take-over needs a lease and a restore. */
export const ANSWER_TIMEOUT_MS = 60_000;
const PROGRESS_EVERY_MS = 10_000;
/**
 * Maximum number of messages without all of their answers. A checkpoint names more (`ERASE_COMMANDS_MAX`), so a
 * lane that catches up on all of them together still names each.
 */
const UNANSWERED_MAX = 50;

/** Upper bounds of the rows that may be about erased data. All of these rows are in the store, and no later ones exist. */
export interface ErasedUpTo {
  /** Time at which the commands were sent. Later data may be in a lane's memory. */
  readonly sentAtMs: number;
  /** The last flush of each lane that may hold such rows; 0 for a lane that is missing. */
  readonly flushes: readonly number[];
  /** The version of the last document of each lane that may; 0 for a lane that is missing. */
  readonly entityVersions: readonly bigint[];
}

/** An erase command waits for lanes. The caller does other work and repeats the call later. */
export class PostponedError extends Error {
  override readonly name = 'PostponedError';
  readonly reason: PostponeReason;
  /** The lanes that have not answered. */
  readonly missing: readonly number[];
  /** Bounds for the other lanes. */
  readonly erased: ErasedUpTo | undefined;

  constructor(reason: PostponeReason, missing: readonly number[], erased: ErasedUpTo | undefined) {
    super(`${reason}: lanes ${missing.join(', ')} have not erased`);
    this.reason = reason;
    this.missing = missing;
    this.erased = erased;
  }
}

/** The sequences of the message in the streams of one lane, and its state by the checkpoints of the lane. */
interface LaneAnswer {
  entitySequence: number | undefined;
  eventSequence: number | undefined;
  /** The last flush before the message, once that is in the store. */
  flush: number | undefined;
  /** True if the entities before the message are in the store. */
  areEntitiesStored: boolean;
}

/** The newest checkpoints of one lane. */
interface LaneReached {
  checkpoint: Pick<Checkpoint, 'sequence' | 'forgettings'>;
  /** Everything up to this sequence of the lane's entity stream is in the store. */
  entities: number;
}

/** Commands that were sent to every lane, and their answers. */
interface SentCommands {
  readonly publisherId: bigint;
  readonly sentAtMs: number;
  readonly bytes: Uint8Array;
  readonly answers: readonly LaneAnswer[];
  /** A checkpoint has passed the message and no longer names it. */
  isLost: boolean;
}

export interface LaneEraserOptions {
  readonly bus: Bus;
  /** The bucket of lane records and of the checkpoints of entities. */
  readonly laneRecords: KeyedBytes;
  readonly lanes: number;
  /** The lanes' names on the bus. */
  readonly nameOf: (lane: number) => LaneName;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: PurgeMetrics;
  readonly job: Pick<LeaderJob, 'sleep' | 'wake' | 'throwIfOver'>;
  readonly answerTimeoutMs: number;
}

/**
 * Makes every lane erase, and waits until its earlier data is in the store. Answers are read from lane records as they change. Commands
 * without all of their answers stay remembered, so that a repeated call sends nothing again:
 *
 *     erase ──▶ sent ──▶ answered by all ──▶ returned
 *                 └──▶ a lane is stuck ──▶ PostponedError ··· erase ──▶ the missing answers
 *
 * No call waits for a stuck lane. Its next answer, to any commands, makes it count as healthy again.
 */
export class LaneEraser {
  readonly #options: LaneEraserOptions;
  /** By the commands as JSON. */
  readonly #sent = new Map<string, SentCommands>();
  readonly #stuck = new Set<number>();
  readonly #reached: readonly LaneReached[];
  #stopWatching: (() => void) | undefined;

  constructor(options: LaneEraserOptions) {
    this.#options = options;
    this.#reached = Array.from({ length: options.lanes }, () => ({
      checkpoint: FIRST_CHECKPOINT,
      entities: 0,
    }));
  }

  /** Lanes that did not answer in time, and have not answered anything since. */
  get stuck(): readonly number[] {
    return [...this.#stuck].sort((a, b) => a - b);
  }

  /** Ends the watch of the lanes. */
  stop(): void {
    this.#stopWatching?.();
    this.#stopWatching = undefined;
  }

  /**
   * Resolves once all lanes have erased: then all rows about the erased data are in the store, in flushes up to the returned ones, and no
   * later flush holds any.
   * @throws {PostponedError} when lanes are stuck
   * @throws {JobOverError}
   * @throws {BusError}
   */
  async erase(commands: readonly EraseCommand[]): Promise<ErasedUpTo> {
    const key = JSON.stringify(commands);
    const sent = this.#sent.get(key) ?? this.#add(key, commands);
    this.#stopWatching ??= await this.#options.laneRecords.watch((record) => this.#note(record));
    await this.#publish(sent);
    this.#match(sent);
    await this.#wait(sent);
    const missing = this.#missingOf(sent);
    const erased = await this.#erasedUpTo(sent);
    if (missing.length === 0 || sent.isLost) this.#remove(key);
    if (sent.isLost) throw this.#postponed('answer-lost', missing, erased);
    if (missing.length > 0) throw this.#postponed('lane-stuck', missing, erased);
    return erased;
  }

  #add(key: string, commands: readonly EraseCommand[]): SentCommands {
    for (const [other, sent] of this.#sent) {
      // Answered after it was postponed, and not requested again since. Sending it once more is harmless.
      const isIdle = sent.isLost || this.#missingOf(sent).length === 0;
      if (this.#sent.size >= UNANSWERED_MAX && isIdle) this.#remove(other);
    }
    if (this.#sent.size >= UNANSWERED_MAX) throw this.#postponed('unanswered-max', this.stuck, undefined);
    const publisherId = randomBytes(8).readBigUInt64LE();
    const sentAtMs = this.#options.clock.nowMs();
    const bytes = encodeEraseCommands({ publisherId, sentAtMs }, commands);
    const answers = Array.from({ length: this.#options.lanes }, () => ({
      entitySequence: undefined,
      eventSequence: undefined,
      flush: undefined,
      areEntitiesStored: false,
    }));
    const sent = { publisherId, sentAtMs, bytes, answers, isLost: false };
    this.#sent.set(key, sent);
    return sent;
  }

  #remove(key: string): void {
    this.#sent.delete(key);
    const missing = new Set([...this.#sent.values()].flatMap((sent) => this.#missingOf(sent)));
    for (const lane of this.stuck) if (!missing.has(lane)) this.#stuck.delete(lane);
    this.#options.metrics.stuckLanes.set(this.#stuck.size);
    if (this.#sent.size === 0) this.stop();
  }

  /** Publishes the messages that an earlier attempt could not. A message published twice counts once, by its publisher and number. */
  async #publish({ answers, bytes }: SentCommands): Promise<void> {
    const { bus, nameOf } = this.#options;
    await Promise.all(
      answers.map(async (answer, lane) => {
        answer.entitySequence ??= await bus.publish(entitySubjectOf(nameOf(lane)), bytes, PUBLISH_TIMEOUT_MS);
        answer.eventSequence ??= await bus.publish(subjectOf(nameOf(lane)), bytes, PUBLISH_TIMEOUT_MS);
      }),
    );
  }

  /** Waits for the lanes that are not stuck. Those that take too long are stuck from then on. */
  async #wait(sent: SentCommands): Promise<void> {
    const { job, log, metrics, answerTimeoutMs } = this.#options;
    const startMs = performance.now();
    let loggedMs = startMs;
    for (;;) {
      job.throwIfOver();
      const missing = this.#missingOf(sent).filter((lane) => !this.#stuck.has(lane));
      if (missing.length === 0 || sent.isLost) return;
      const nowMs = performance.now();
      const waitedMs = Math.round(nowMs - startMs);
      if (waitedMs >= answerTimeoutMs) {
        for (const lane of missing) this.#stuck.add(lane);
        metrics.stuckLanes.set(this.#stuck.size);
        log.warn({ lanes: missing, waitedMs }, 'purge: lanes do not erase, going on without them');
        return;
      }
      if (nowMs - loggedMs >= PROGRESS_EVERY_MS) {
        loggedMs = nowMs;
        log.info({ lanes: missing, waitedMs }, 'purge: waiting for lanes to erase');
      }
      await job.sleep(Math.min(PROGRESS_EVERY_MS, answerTimeoutMs - waitedMs));
    }
  }

  #note({ key, bytes }: KeyedValue): void {
    if (bytes === undefined) return;
    try {
      for (const [lane, reached] of this.#reached.entries()) {
        if (key === laneKeyOf(lane)) reached.checkpoint = decodeLaneRecord(bytes).checkpoint;
        if (key === entityCheckpointKeyOf(lane)) reached.entities = decodeEntityCheckpoint(bytes).sequence;
      }
    } catch (error) {
      this.#options.log.error({ key, reason: reasonOf(error) }, 'purge: a lane record cannot be read');
    }
    for (const sent of this.#sent.values()) this.#match(sent);
  }

  /** Reads the answers to a message from the newest records. */
  #match(sent: SentCommands): void {
    const id = eraseCommandIdOf(sent.publisherId);
    for (const [lane, answer] of sent.answers.entries()) {
      if (isAnswered(answer)) continue;
      const { checkpoint, entities } = must(this.#reached[lane], 'every lane has a state');
      const { entitySequence, eventSequence } = answer;
      answer.flush ??= checkpoint.forgettings.find(([known]) => known === id)?.[1];
      answer.areEntitiesStored ||= entitySequence !== undefined && entities >= entitySequence;
      if (answer.flush === undefined && eventSequence !== undefined && checkpoint.sequence >= eventSequence)
        sent.isLost = true;
      if (!isAnswered(answer) && !sent.isLost) continue;
      this.#stuck.delete(lane);
      this.#options.metrics.stuckLanes.set(this.#stuck.size);
      this.#options.job.wake();
    }
  }

  #missingOf({ answers }: SentCommands): readonly number[] {
    return answers.flatMap((answer, lane) => (isAnswered(answer) ? [] : [lane]));
  }

  async #erasedUpTo({ sentAtMs, answers }: SentCommands): Promise<ErasedUpTo> {
    const { bus } = this.#options;
    const entityVersions = answers.map(async (answer, lane) => {
      if (!isAnswered(answer) || answer.entitySequence === undefined) return 0n;
      return entityVersionOf(await bus.streamCreatedMs(entityStreamOf(lane)), answer.entitySequence);
    });
    return {
      sentAtMs,
      flushes: Array.from({ length: Math.max(answers.length, LANES_MAX) }, (_, lane) =>
        flushOf(answers[lane]),
      ),
      entityVersions: await Promise.all(entityVersions),
    };
  }

  #postponed(
    reason: PostponeReason,
    missing: readonly number[],
    erased: ErasedUpTo | undefined,
  ): PostponedError {
    this.#options.metrics.postponed[reason].add();
    return new PostponedError(reason, missing, erased);
  }
}

/** Rows of further lanes are from before a bus was lost, and nothing writes more of them. */
function flushOf(answer: LaneAnswer | undefined): number {
  if (answer === undefined) return EVERY_FLUSH;
  return isAnswered(answer) ? (answer.flush ?? 0) : 0;
}

function isAnswered({ flush, areEntitiesStored }: LaneAnswer): boolean {
  return flush !== undefined && areEntitiesStored;
}
