import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { LeaseWatch } from '../../infra/bus/lease-watch.ts';
import { tickMessage } from '../consumer/tick.ts';
import { decodeEntityCheckpoint } from '../entities/entity-checkpoint.ts';
import type { EntityDeps } from '../entities/entity-flush.ts';
import { EntityLane } from '../entities/entity-lane.ts';
import { Lane, type LaneOptions } from './lane.ts';
import { type Checkpoint, decodeLaneRecord, UNDIVIDED } from './lane-record.ts';
import { Ownership } from './ownership.ts';

/**
 * Before there were lanes, each partition was a pipeline of its own: with a stream of events, one of entity updates, a
 * checkpoint, and flush numbers. Such partitions are brought to their end, one after the other, as they were left:
 *
 *     entity updates of all ─▶ tick for each ─▶ events of each ─▶ closed ─▶ streams deleted
 *
 * Updates come first, because they publish revenue to streams of events. The tick moves all clocks to the same time, at
 * which the lane goes on: so it ends exactly those sessions that no partition has ended. Rows keep the number of
 * their partition; all of their flushes are complete. Each step can be repeated after a crash.
 */
const PARTITION_KEY = /^partition-(\d+)$/;
const CATCH_UP_MAX_MS = 600_000;
const TAKE_EVERY_MS = 1_000;
const PUBLISH_TIMEOUT_MS = 10_000;

/** The key of an earlier partition's record, in the bucket of the lanes. */
export function earlierKeyOf(partition: number): string {
  return `partition-${partition}`;
}

/** Names of an earlier partition on the bus. */
export function earlierNamesOf(partition: number): {
  readonly stream: string;
  readonly subject: string;
  readonly entityStream: string;
  readonly entitySubject: string;
  readonly checkpointKey: string;
} {
  return {
    stream: `events-${partition}`,
    subject: `events.${partition}`,
    entityStream: `records-${partition}`,
    entitySubject: `records.${partition}`,
    checkpointKey: `records-${partition}`,
  };
}

/** What lanes and entity lanes need; stream, keys and numbers are those of each partition. */
export type EarlierOptions = Omit<LaneOptions, 'ownership' | 'stream' | 'subject' | 'isAlone'> &
  Pick<EntityDeps, 'records' | 'bookLimits'> & {
    readonly entityMetrics: EntityDeps['metrics'];
    readonly entityGauges: EntityDeps['gauges'];
  };

interface Stoppable {
  stop(): Promise<void>;
}

/** Brings the partitions of earlier releases to their end. */
export class EarlierPartitions {
  readonly #options: EarlierOptions;
  #current: Stoppable | undefined;
  #stopping = false;

  constructor(options: EarlierOptions) {
    this.#options = options;
  }

  /**
   * Closes all partitions that are open. Returns where the lane goes on that has the number of the first one; undefined
   * when there never were partitions, or when this was stopped.
   */
  async close(): Promise<Pick<Checkpoint, 'flushNumber' | 'clockMs'> | undefined> {
    const { log } = this.#options;
    const found = await this.#find();
    const open = found.filter(({ isClosed }) => !isClosed).map(({ partition }) => partition);
    if (open.length > 0) {
      log.info({ partitions: open.length }, 'bringing the partitions of an earlier release to their end');
      const clocks = found.map(({ checkpoint }) => checkpoint.clockMs);
      await this.#closeAll(open, Math.max(this.#options.clock.nowMs(), ...clocks));
      if (!this.#stopping)
        log.info({ partitions: open.length }, 'the partitions of an earlier release have ended');
    }
    if (this.#stopping) return undefined;
    for (const { partition } of found) await this.#deleteStreams(partition);
    return (await this.#find()).find(({ partition }) => partition === 0)?.checkpoint;
  }

  /** Ends what is under way; `close` returns soon. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#current?.stop();
  }

  async #find(): Promise<{ partition: number; checkpoint: Checkpoint; isClosed: boolean }[]> {
    const stored = await this.#options.records.list('*');
    return stored.flatMap(({ key, bytes }) => {
      const partition = PARTITION_KEY.exec(key)?.[1];
      if (partition === undefined || bytes === undefined) return [];
      const { checkpoint, isClosed } = decodeLaneRecord(bytes);
      return [{ partition: Number(partition), checkpoint, isClosed }];
    });
  }

  async #closeAll(partitions: readonly number[], tickMs: number): Promise<void> {
    const ownerships = new Map<number, Ownership>();
    for (const partition of partitions) {
      const ownership = await this.#take(partition);
      if (ownership !== undefined) ownerships.set(partition, ownership);
    }
    for (const partition of partitions) if (!this.#stopping) await this.#finishEntities(partition);
    for (const [partition, ownership] of ownerships) {
      if (this.#stopping) return;
      await this.#finishEvents(partition, ownership, tickMs);
    }
  }

  /** Takes a partition over, waiting for the lease of its last owner to end. */
  async #take(partition: number): Promise<Ownership | undefined> {
    const { records, config, clock } = this.#options;
    const watch = new LeaseWatch();
    while (!this.#stopping) {
      const ownership = await Ownership.take({
        records,
        lane: partition,
        key: earlierKeyOf(partition),
        division: UNDIVIDED,
        owner: config.INSTANCE,
        leaseMs: config.LEASE_MS,
        watch,
        clock,
      });
      if (ownership !== undefined) return ownership;
      await sleep(TAKE_EVERY_MS);
    }
    return undefined;
  }

  async #finishEntities(partition: number): Promise<void> {
    const { entityMetrics: metrics, entityGauges: gauges, bus } = this.#options;
    const { entityStream: stream, entitySubject: subject, checkpointKey } = earlierNamesOf(partition);
    if (!(await bus.hasStream(stream))) return;
    const eventSubjectOf = (other: number) => earlierNamesOf(other).subject;
    const lane = new EntityLane({
      ...this.#options,
      lane: partition,
      stream,
      subject,
      checkpointKey,
      eventSubjectOf,
      metrics,
      gauges,
    });
    await this.#finish(lane, lane.run());
    const stored = await this.#options.records.get(checkpointKey);
    const reached = stored?.bytes === undefined ? 0 : decodeEntityCheckpoint(stored.bytes).sequence;
    await this.#checkIsStored(stream, reached);
  }

  async #finishEvents(partition: number, ownership: Ownership, tickMs: number): Promise<void> {
    const { bus } = this.#options;
    const { stream, subject } = earlierNamesOf(partition);
    if (await bus.hasStream(stream)) {
      const publisherId = randomBytes(8).readBigUInt64LE();
      const tick = tickMessage({ publisherId, publisherSequence: 1, sentAtMs: tickMs });
      await bus.publish(subject, tick, PUBLISH_TIMEOUT_MS);
      const lane = new Lane({
        ...this.#options,
        lane: partition,
        stream,
        subject,
        ownership,
        isAlone: false,
      });
      try {
        await lane.restore();
        await this.#finish(lane, lane.run());
      } finally {
        await lane.close();
      }
      await this.#checkIsStored(stream, ownership.checkpoint.sequence);
    }
    if (!this.#stopping) await ownership.close();
  }

  /** Lets a lane work off its stream and stops it. */
  async #finish(
    lane: Stoppable & { catchUp(maxMs: number): Promise<boolean> },
    running: Promise<void>,
  ): Promise<void> {
    this.#current = lane;
    // Why it did not catch up, `running` or the check of its stream says.
    const caughtUp = lane.catchUp(CATCH_UP_MAX_MS).catch(() => false);
    await Promise.race([running, caughtUp]);
    await lane.stop();
    await running;
    this.#current = undefined;
  }

  /** A stream may have messages that are in the store: a crash came before they were trimmed. */
  async #checkIsStored(stream: string, reached: number): Promise<void> {
    if (this.#stopping) return;
    const { last } = await this.#options.bus.streamBounds(stream);
    if (reached < last) throw new Error(`stream ${stream} could not be brought to the store`);
  }

  async #deleteStreams(partition: number): Promise<void> {
    const { stream, entityStream } = earlierNamesOf(partition);
    for (const name of [stream, entityStream]) await this.#options.bus.deleteStream(name);
  }
}
