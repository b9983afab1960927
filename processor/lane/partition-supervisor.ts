import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { backoffMs } from '../../infra/concurrency/backoff.ts';
import { Notify } from '../../infra/concurrency/notify.ts';
import { reasonOf } from '../../infra/log.ts';
import { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import { beginMessage, endMessage, subjectOf } from '../../ingest/event.ts';
import { encodeSessionsUnavailable, sessionLookupSubjectOf } from '../../ingest/session-lookup.ts';
import { BOOK_LIMITS } from '../entities/entity-book.ts';
import type { EntityGauges, EntityMetrics } from '../entities/entity-metrics.ts';
import { EntitySupervisor } from '../entities/entity-supervisor.ts';
import { decodeHotQuestion, encodeHotAnswer, hotSubjectOf } from '../hot.ts';
import { Lane, type LaneOptions } from './lane.ts';
import { FencedError, Ownership } from './ownership.ts';

const TAKE_EVERY_MS = 1_000;
const RESTART_BACKOFF = { firstMs: 200, maxMs: 10_000 };
const HEALTHY_AFTER_MS = 60_000;
const TICK_EVERY_MS = 60_000;
const CATCH_UP_MAX_MS = 600_000;

export interface PartitionSupervisorOptions extends Omit<LaneOptions, 'ownership'> {
  readonly records: KeyedBytes;
  readonly entityMetrics: EntityMetrics;
  readonly entityGauges: EntityGauges;
}

/** Keeps one partition going: takes it over when it can, runs its lane, and starts again when the lane stops. */
export class PartitionSupervisor {
  readonly #options: PartitionSupervisorOptions;
  #lane: Lane | undefined;
  #answering = false;
  #stopping = false;
  #running: Promise<void> = Promise.resolve();
  readonly #notify = new Notify();
  #tickSequence = 0;
  #ticker: NodeJS.Timeout | undefined;
  readonly #tickPublisher: bigint;

  constructor(options: PartitionSupervisorOptions) {
    this.#options = options;
    this.#tickPublisher = BigInt(Math.floor(options.random() * 2 ** 48));
  }

  /** Whether the partition is ours and caught up. */
  get answering(): boolean {
    return this.#answering;
  }

  start(): void {
    this.#running = this.#keep();
  }

  /** Finishes what was folded, and gives the partition up. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#notify.wake();
    await this.#lane?.stop();
    await this.#running;
  }

  async #keep(): Promise<void> {
    const { partition, log, clock, metrics, random } = this.#options;
    for (let attempt = 0; !this.#stopping; ) {
      const startedMs = clock.nowMs();
      try {
        if (!(await this.#own())) await this.#notify.sleep(TAKE_EVERY_MS);
        continue;
      } catch (error) {
        if (this.#stopping) {
          log.info(
            { partition, reason: reasonOf(error) },
            'lane: stopped before its last flush; the bus keeps it',
          );
          return;
        }
        if (error instanceof FencedError) {
          metrics.fencings.add();
          log.warn({ partition }, 'lane: another process owns the partition now');
        } else {
          metrics.failures.add();
          log.error(
            { partition, reason: reasonOf(error) },
            'lane: stopped; it will start again from its checkpoint',
          );
        }
      }
      if (clock.nowMs() - startedMs > HEALTHY_AFTER_MS) attempt = 0;
      await this.#notify.sleep(backoffMs(RESTART_BACKOFF, attempt, random()));
      attempt += 1;
    }
  }

  /** Owns the partition until it is lost or given up. False when it is somebody else's. */
  async #own(): Promise<boolean> {
    const { partition, config, clock, records, worker, log } = this.#options;
    const ownership = await Ownership.take({
      records,
      partition,
      owner: config.INSTANCE,
      leaseMs: config.LEASE_MS,
      clock,
    });
    if (ownership === undefined) return false;
    if (this.#stopping) {
      await ownership.giveUp();
      return true;
    }
    const lane = new Lane({ ...this.#options, ownership });
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
      log.info({ partition }, 'lane: given up');
    } finally {
      this.#lane = undefined;
      await entitySupervisor.stop();
      await worker.close(partition);
    }
    return true;
  }

  /** Profiles, groups and orders belong to whoever owns the partition's events. */
  #entitySupervisor(): EntitySupervisor {
    const { entityMetrics: metrics, entityGauges: gauges } = this.#options;
    return new EntitySupervisor({ ...this.#options, metrics, gauges, bookLimits: BOOK_LIMITS });
  }

  /** Begins to answer questions once everything that waited in the bus is folded. Returns how to end it. */
  async #answerWhenCaughtUp(lane: Lane, startMs: number): Promise<() => void> {
    const { partition, bus, log } = this.#options;
    try {
      await lane.catchUp(CATCH_UP_MAX_MS);
    } catch (error) {
      log.warn({ partition, reason: reasonOf(error) }, 'lane: did not catch up');
      return () => {};
    }
    const stops = [
      bus.answer(sessionLookupSubjectOf(partition), {
        reply: (bytes) => lane.lookUp(bytes),
        unavailable: encodeSessionsUnavailable,
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
    log.info({ partition, ms: Math.round(performance.now() - startMs) }, 'lane: caught up');
    return () => {
      this.#answering = false;
      clearInterval(this.#ticker);
      for (const stop of stops) stop();
    };
  }

  #lastTickedSequence = 0;

  /** A partition that gets no events gets its clock moved, so that its silent sessions end and its hours settle. */
  async #tick(lane: Lane): Promise<void> {
    const { partition, bus, clock, config, log } = this.#options;
    const quiet = lane.foldedSequence === this.#lastTickedSequence;
    this.#lastTickedSequence = lane.foldedSequence;
    if (!quiet) return;
    this.#tickSequence += 1;
    const writer = new RowBinaryWriter(1024);
    beginMessage(writer, {
      publisherId: this.#tickPublisher,
      publisherSequence: this.#tickSequence,
      sentAtMs: clock.nowMs(),
    });
    endMessage(writer, 0);
    try {
      const sequence = await bus.publish(subjectOf(partition), writer.bytes(), config.PUBLISH_TIMEOUT_MS);
      this.#lastTickedSequence = sequence;
    } catch (error) {
      log.info({ partition, reason: reasonOf(error) }, 'lane: a tick was not published'); // The next one will do.
    }
  }
}
