import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { LeaseWatch } from '../../infra/bus/lease-watch.ts';
import { tickMessage } from '../consumer/tick.ts';
import type { EntityDeps } from '../entities/entity-flush.ts';
import type { LaneOptions } from './lane.ts';
import { type Checkpoint, decodeLaneRecord, FIRST_CHECKPOINT, UNDIVIDED } from './lane-record.ts';
import { Ownership } from './ownership.ts';
import { WorkOff } from './work-off.ts';

/**
 * Before there were lanes, each partition was a pipeline of its own: with a stream of events, one of entity updates, a checkpoint, and
 * flush numbers. Such partitions are brought to their end, one after the other, as they were left:
 *
 *     entity updates of all ─▶ tick for each ─▶ events of each ─▶ closed ─▶ streams deleted
 *
 * Updates come first, because they publish revenue to streams of events. The tick moves all clocks to the same time, at which the lane
 * continues: so it ends exactly the sessions that no partition has ended. Rows keep the number of their partition; all of their flushes are
 * complete. Each step can be repeated after a crash.
 */
const PARTITION_KEY = /^partition-(\d+)$/;
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

/** Dependencies of lanes and entity lanes; each partition has its own stream, keys and numbers. */
export type EarlierOptions = Omit<LaneOptions, 'ownership' | 'stream' | 'subject' | 'name' | 'isAlone'> &
  Pick<EntityDeps, 'records' | 'bookLimits'> & {
    readonly entityMetrics: EntityDeps['metrics'];
    readonly entityGauges: EntityDeps['gauges'];
  };

/** Finishes the partitions of earlier releases. */
export class EarlierPartitions {
  readonly #options: EarlierOptions;
  readonly #workOff = new WorkOff();

  constructor(options: EarlierOptions) {
    this.#options = options;
  }

  /**
   * Closes all partitions that are open. Returns the position from which the lane with the number of the first one continues; undefined
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
      if (!this.#workOff.stopping)
        log.info({ partitions: open.length }, 'the partitions of an earlier release have ended');
    }
    if (this.#workOff.stopping) return undefined;
    for (const { partition } of found) await this.#deleteStreams(partition);
    return (await this.#find()).find(({ partition }) => partition === 0)?.checkpoint;
  }

  /** Closes them for the owner of the lane that takes up their state; the lane continues where the first one ended. */
  async takeOver(ownership: Ownership): Promise<void> {
    const end = await this.close();
    const isNew = ownership.checkpoint.sequence === 0 && ownership.checkpoint.flushNumber === 0;
    if (end === undefined || !isNew || ownership.intent !== null) return;
    const { flushNumber, clockMs } = end;
    await ownership.complete({ ...FIRST_CHECKPOINT, flushNumber, clockMs });
  }

  /** Ends the work in progress; `close` returns soon. */
  stop(): Promise<void> {
    return this.#workOff.stop();
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
    for (const partition of partitions) if (!this.#workOff.stopping) await this.#finishEntities(partition);
    for (const [partition, ownership] of ownerships) {
      if (this.#workOff.stopping) return;
      await this.#finishEvents(partition, ownership, tickMs);
    }
  }

  /** Takes a partition over, waiting for the lease of its last owner to end. */
  async #take(partition: number): Promise<Ownership | undefined> {
    const { records, config, clock } = this.#options;
    const watch = new LeaseWatch();
    while (!this.#workOff.stopping) {
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
    const named = { lane: partition, name: partition, stream, subject, checkpointKey, eventSubjectOf };
    await this.#workOff.entities({ ...this.#options, ...named, metrics, gauges });
  }

  async #finishEvents(partition: number, ownership: Ownership, tickMs: number): Promise<void> {
    const { bus } = this.#options;
    const { stream, subject } = earlierNamesOf(partition);
    if (await bus.hasStream(stream)) {
      const publisherId = randomBytes(8).readBigUInt64LE();
      const tick = tickMessage({ publisherId, publisherSequence: 1, sentAtMs: tickMs });
      await bus.publish(subject, tick, PUBLISH_TIMEOUT_MS);
      const named = { lane: partition, name: partition, stream, subject };
      await this.#workOff.events({ ...this.#options, ...named, ownership, isAlone: false });
    }
    if (!this.#workOff.stopping) await ownership.close();
  }

  async #deleteStreams(partition: number): Promise<void> {
    const { stream, entityStream } = earlierNamesOf(partition);
    for (const name of [stream, entityStream]) await this.#options.bus.deleteStream(name);
  }
}
