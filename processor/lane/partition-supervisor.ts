import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { Supervisor } from '../../infra/concurrency/supervisor.ts';
import { reasonOf } from '../../infra/log.ts';
import { entityStreamOf } from '../../ingest/entity-update.ts';
import { streamOf, subjectOf } from '../../ingest/event.ts';
import { encodeOpenSessionsUnavailable, openSessionsSubjectOf } from '../../ingest/open-sessions.ts';
import { encodeSessionsUnavailable, sessionLookupSubjectOf } from '../../ingest/session-lookup.ts';
import { BOOK_LIMITS } from '../entities/entity-book.ts';
import { entityCheckpointKeyOf } from '../entities/entity-checkpoint.ts';
import type { EntityGauges, EntityMetrics } from '../entities/entity-metrics.ts';
import { EntitySupervisor } from '../entities/entity-supervisor.ts';
import { decodeHotQuestion, encodeHotAnswer, hotSubjectOf } from '../hot.ts';
import { EarlierPartitions } from './earlier-partitions.ts';
import { type LaneOptions, PartitionLane } from './lane.ts';
import { FIRST_CHECKPOINT, laneKeyOf } from './lane-record.ts';
import { FencedError, Ownership } from './ownership.ts';
import { tickMessage } from './tick.ts';

const TAKE_EVERY_MS = 1_000;
const RESTART_BACKOFF = { firstMs: 200, maxMs: 10_000 };
const HEALTHY_AFTER_MS = 60_000;
const TICK_EVERY_MS = 60_000;
const CATCH_UP_MAX_MS = 600_000;

export interface PartitionSupervisorOptions extends Omit<LaneOptions, 'ownership' | 'stream'> {
  readonly records: KeyedBytes;
  readonly entityMetrics: EntityMetrics;
  readonly entityGauges: EntityGauges;
}

/** Keeps one lane going: takes it over when its lease is free, runs its lane, and restarts the lane when it fails. */
export class PartitionSupervisor {
  readonly #options: PartitionSupervisorOptions;
  readonly #supervisor: Supervisor;
  #lane: PartitionLane | undefined;
  #earlier: EarlierPartitions | undefined;
  #answering = false;
  #ticker: NodeJS.Timeout | undefined;
  readonly #tickPublisher: bigint;
  #tickSequence = 0;
  #lastTickedSequence = 0;

  constructor(options: PartitionSupervisorOptions) {
    this.#options = options;
    const { partition, metrics } = options;
    this.#tickPublisher = BigInt(Math.floor(options.random() * 2 ** 48));
    this.#supervisor = new Supervisor({
      ...options,
      name: 'partition lane',
      fields: { partition },
      backoff: RESTART_BACKOFF,
      healthyAfterMs: HEALTHY_AFTER_MS,
      failures: metrics.failures,
      run: () => this.#own(),
      interrupt: async () => {
        await this.#earlier?.stop();
        await this.#lane?.stop();
      },
      isExpected: (error) => this.#isFenced(error),
    });
  }

  /** Whether the lane is ours and caught up. */
  get answering(): boolean {
    return this.#answering;
  }

  start(): void {
    this.#supervisor.start();
  }

  /** Flushes what was folded, and gives the partition up. */
  stop(): Promise<void> {
    return this.#supervisor.stop();
  }

  #isFenced(error: unknown): boolean {
    if (!(error instanceof FencedError)) return false;
    const { partition, log, metrics } = this.#options;
    metrics.fencings.add();
    log.warn({ partition }, 'another process owns the partition now');
    return true;
  }

  /** Owns the lane until it is lost or given up; waits for a while when another process owns it. */
  async #own(): Promise<void> {
    const { partition, config, clock, records, threads, log } = this.#options;
    const shards = Math.min(threads.length, config.PARTITIONS);
    const ownership = await Ownership.take({
      records,
      partition,
      key: laneKeyOf(partition),
      division: { shards, partitions: config.PARTITIONS },
      owner: config.INSTANCE,
      leaseMs: config.LEASE_MS,
      clock,
    });
    if (ownership === undefined) return this.#supervisor.sleep(TAKE_EVERY_MS);
    if (this.#supervisor.stopping) return ownership.giveUp();
    if (!(await this.#closeEarlier(ownership))) return ownership.giveUp();
    const lane = new PartitionLane({ ...this.#options, stream: streamOf(partition), ownership });
    this.#lane = lane;
    const entitySupervisor = this.#entitySupervisor();
    entitySupervisor.start();
    try {
      const startMs = performance.now();
      await lane.restore();
      const running = lane.run();
      const answering = this.#answerWhenCaughtUp(lane, startMs);
      try {
        await running;
      } finally {
        (await answering)();
      }
      await ownership.giveUp();
      log.info({ partition }, 'partition given up');
    } finally {
      this.#lane = undefined;
      await lane.openSessions.stop();
      await entitySupervisor.stop();
      await lane.close();
    }
  }

  /** Takes over from partitions of an earlier release, if this lane is alone; false when the supervisor stops meanwhile. */
  async #closeEarlier(ownership: Ownership): Promise<boolean> {
    const { isAlone, config, log } = this.#options;
    if (!isAlone) return true;
    const earlier = new EarlierPartitions({ ...this.#options, bookLimits: BOOK_LIMITS });
    this.#earlier = earlier;
    const renewing = setInterval(() => {
      // A lane that is lost is noticed at its next write.
      ownership.renew().catch((error) => log.warn({ reason: reasonOf(error) }, 'the lease was not renewed'));
    }, config.LEASE_MS / 3);
    try {
      const end = await earlier.close();
      const isNew = ownership.checkpoint.sequence === 0 && ownership.checkpoint.flushNumber === 0;
      if (end !== undefined && isNew && ownership.intent === null) {
        const { flushNumber, clockMs } = end;
        await ownership.complete({ ...FIRST_CHECKPOINT, flushNumber, clockMs });
      }
    } finally {
      clearInterval(renewing);
      this.#earlier = undefined;
    }
    return !this.#supervisor.stopping;
  }

  /** Profiles, groups and orders belong to the owner of the lane's events. */
  #entitySupervisor(): EntitySupervisor {
    const { entityMetrics: metrics, entityGauges: gauges } = this.#options;
    const { partition, isAlone } = this.#options;
    return new EntitySupervisor({
      ...this.#options,
      stream: entityStreamOf(partition),
      checkpointKey: entityCheckpointKeyOf(partition),
      // Orders of earlier releases name one of their partitions.
      eventSubjectOf: isAlone ? () => subjectOf(partition) : subjectOf,
      metrics,
      gauges,
      bookLimits: BOOK_LIMITS,
    });
  }

  /** Begins to answer questions once everything that waited in the bus is folded. Returns how to end it. */
  async #answerWhenCaughtUp(lane: PartitionLane, startMs: number): Promise<() => void> {
    const { partition, bus, log } = this.#options;
    try {
      if (!(await lane.catchUp(CATCH_UP_MAX_MS))) throw new Error('the lane is behind or stops');
    } catch (error) {
      log.warn({ partition, reason: reasonOf(error) }, 'lane did not catch up, not answering');
      return () => {};
    }
    const stops = [
      bus.answer(sessionLookupSubjectOf(partition), {
        reply: (bytes) => lane.lookUp(bytes),
        unavailable: encodeSessionsUnavailable,
      }),
      bus.answer(openSessionsSubjectOf(partition), {
        reply: (bytes) => lane.openSessions.answer(bytes),
        unavailable: encodeOpenSessionsUnavailable,
      }),
      bus.answer(hotSubjectOf(partition), {
        reply: (bytes) => lane.hot(decodeHotQuestion(bytes)),
        unavailable: (why) =>
          encodeHotAnswer({
            kind: 'unavailable',
            reason: why === 'malformed' || why === 'version' ? 'unreadable' : 'failed',
          }),
      }),
    ];
    this.#answering = true;
    this.#ticker = setInterval(() => void this.#tick(lane), TICK_EVERY_MS);
    log.info({ partition, ms: Math.round(performance.now() - startMs) }, 'lane caught up, answering');
    return () => {
      this.#answering = false;
      clearInterval(this.#ticker);
      for (const stop of stops) stop();
    };
  }

  /** Moves the clock of a lane without events, so that its silent sessions end and its hours are finalized. */
  async #tick(lane: PartitionLane): Promise<void> {
    const { partition, bus, clock, config, log } = this.#options;
    const quiet = lane.foldedSequence === this.#lastTickedSequence;
    this.#lastTickedSequence = lane.foldedSequence;
    if (!quiet) return;
    this.#tickSequence += 1;
    const tick = tickMessage({
      publisherId: this.#tickPublisher,
      publisherSequence: this.#tickSequence,
      sentAtMs: clock.nowMs(),
    });
    try {
      const sequence = await bus.publish(subjectOf(partition), tick, config.PUBLISH_TIMEOUT_MS);
      this.#lastTickedSequence = sequence;
    } catch (error) {
      log.info({ partition, reason: reasonOf(error) }, 'a tick could not be published'); // The next one will do.
    }
  }
}
