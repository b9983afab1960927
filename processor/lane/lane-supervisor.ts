import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { LeaseWatch } from '../../infra/bus/lease-watch.ts';
import { Supervisor } from '../../infra/concurrency/supervisor.ts';
import { reasonOf } from '../../infra/log.ts';
import { type LaneLayout, type LaneName, laneNameOf } from '../../infra/process/service-lanes.ts';
import type { Store } from '../../infra/store/store.ts';
import type { PerShard } from '../../infra/store/store-shards.ts';
import { entityStreamOf, entitySubjectOf } from '../../ingest/entity-update.ts';
import { streamOf, subjectOf } from '../../ingest/event.ts';
import { encodeOpenSessionsUnavailable, openSessionsSubjectOf } from '../../ingest/open-sessions.ts';
import { encodeSessionsUnavailable, sessionLookupSubjectOf } from '../../ingest/session-lookup.ts';
import { type BackedUpLane, LaneBackups, REST_MAX_MS } from '../backups/lane-backups.ts';
import { LaneHold } from '../backups/lane-hold.ts';
import { type BackedLane, backupSubjectOf, encodeBackupAnswer } from '../backups.ts';
import { LaneHealth } from '../consumer/lane-health.ts';
import { tickMessage } from '../consumer/tick.ts';
import { BOOK_LIMITS } from '../entities/entity-book.ts';
import { entityCheckpointKeyOf } from '../entities/entity-checkpoint.ts';
import type { EntityGauges, EntityMetrics } from '../entities/entity-metrics.ts';
import { EntitySupervisor } from '../entities/entity-supervisor.ts';
import { entityVersionOf } from '../entities/erased.ts';
import { laneOfEvent } from '../entities/revenue-event.ts';
import { decodeHotQuestion, encodeHotAnswer, hotSubjectOf } from '../hot.ts';
import { encodeLiveUnavailable, liveWatchSubjectOf } from '../live-numbers.ts';
import type { LaneShares } from '../shares/lane-shares.ts';
import { Adoptions } from './adoptions.ts';
import { Lane, type LaneOptions } from './lane.ts';
import { type Checkpoint, laneKeyOf } from './lane-record.ts';
import { FencedError, Ownership } from './ownership.ts';
import { SetAsideError } from './set-aside.ts';

const TAKE_EVERY_MS = 250;
const RESTART_BACKOFF = { firstMs: 200, maxMs: 10_000 };
const HEALTHY_AFTER_MS = 60_000;
const TICK_EVERY_MS = 60_000;
const CATCH_UP_MAX_MS = 600_000;
const CATCH_UP_AGAIN_MS = 100;
export interface LaneSupervisorOptions
  extends Omit<LaneOptions, 'ownership' | 'stream' | 'subject' | 'name'> {
  readonly layout: LaneLayout;
  /** All shards of the store; `store` is the lane's. */
  readonly stores: PerShard<Store>;
  /** True if the lane may use its tables; always when absent. */
  readonly isStoreReady?: () => boolean;
  /** Runs `work` while nothing is rolled up. */
  readonly withoutRollups: (work: () => Promise<void>) => Promise<void>;
  readonly records: KeyedBytes;
  readonly shares: LaneShares;
  readonly entityMetrics: EntityMetrics;
  readonly entityGauges: EntityGauges;
}

/** `standby`: another process owns the lane, and this one takes over when that ends. */
export type LaneState = 'starting' | 'answering' | 'standby';

/** Keeps one lane going: takes it over when its lease is free, runs its lane, and restarts the lane when it fails. */
export class LaneSupervisor {
  readonly #options: LaneSupervisorOptions;
  readonly #supervisor: Supervisor;
  /** The lane's name on the bus. */
  readonly #name: LaneName;
  readonly #leaseWatch = new LeaseWatch();
  #lane: Lane | undefined;
  readonly #backups: LaneBackups;
  readonly #adoptions: Adoptions;
  readonly #health = new LaneHealth();
  /** From the last time that this process owned the lane. */
  #ownership: Ownership | undefined;
  #entities: EntitySupervisor | undefined;
  /** The processor that is to have the lane once it is stopped, and the one for which it was given up. */
  #handOverTo: string | undefined;
  #givenTo: string | undefined;
  #state: LaneState = 'starting';
  #ticker: NodeJS.Timeout | undefined;
  readonly #tickPublisher: bigint;
  #tickSequence = 0;
  #lastTickedSequence = 0;

  constructor(options: LaneSupervisorOptions) {
    this.#options = options;
    const { lane, layout } = options;
    this.#name = laneNameOf(lane, layout);
    this.#backups = new LaneBackups(options);
    this.#tickPublisher = BigInt(Math.floor(options.random() * 2 ** 48));
    this.#supervisor = new Supervisor({
      ...options,
      name: 'lane',
      fields: { lane },
      backoff: RESTART_BACKOFF,
      healthyAfterMs: HEALTHY_AFTER_MS,
      failures: { add: () => this.#noteFailure() },
      run: () => this.#own(),
      interrupt: async () => {
        await this.#lane?.stop();
      },
      isExpected: (error) => this.#isFenced(error),
    });
    this.#adoptions = new Adoptions({
      ...options,
      sleep: (ms) => this.#supervisor.sleep(ms),
      isStopping: () => this.#supervisor.stopping,
    });
  }

  get isAnswering(): boolean {
    return this.#state === 'answering';
  }

  /** True if the lane, or its entities, are restarted again and again without anything reaching the store. */
  get isFailing(): boolean {
    const sequence = this.#ownership?.checkpoint.sequence ?? 0;
    return this.#health.isFailing(sequence, performance.now()) || this.#entities?.isFailing === true;
  }

  /** `answering`: the lane is ours and caught up. */
  get state(): LaneState {
    return this.#state;
  }

  start(): void {
    this.#supervisor.start();
  }

  /** Checks immediately whether the lane is free. */
  wake(): void {
    this.#supervisor.wake();
  }

  /** Flushes everything folded, and gives the lane up for another processor. Only for a lane that is answering. */
  handOver(to: string): void {
    this.#handOverTo = to;
    void this.#lane?.stop();
  }

  /** Flushes everything folded, and gives the lane up. */
  stop(): Promise<void> {
    return this.#supervisor.stop();
  }

  #noteFailure(): void {
    this.#options.metrics.failures.add();
    this.#health.failed(this.#ownership?.checkpoint.sequence ?? 0, performance.now());
  }

  #isFenced(error: unknown): boolean {
    if (!(error instanceof FencedError)) return false;
    const { lane, log, metrics } = this.#options;
    metrics.fencings.add();
    log.warn({ lane }, 'another process owns the lane now');
    return true;
  }

  /** Owns the lane until it is lost or given up; waits for a while when another process owns it. */
  async #own(): Promise<void> {
    const { lane, layout, config, clock, records, threads, shares, isStoreReady } = this.#options;
    if (isStoreReady?.() === false) return this.#supervisor.sleep(TAKE_EVERY_MS);
    const slices = Math.min(threads.length, config.PARTITIONS);
    const ownership = await Ownership.take({
      isWithinShare: () => shares.reserve(lane),
      grownTo: layout.isGrown ? layout.lanes : undefined,
      records,
      lane,
      key: laneKeyOf(lane),
      division: { slices, partitions: config.PARTITIONS },
      owner: config.INSTANCE,
      leaseMs: config.LEASE_MS,
      watch: this.#leaseWatch,
      clock,
    }).catch((error: unknown) => {
      shares.missed(lane);
      throw error;
    });
    if (ownership === undefined) {
      shares.missed(lane);
      this.#state = 'standby';
      return this.#supervisor.sleep(TAKE_EVERY_MS);
    }
    this.#ownership = ownership;
    shares.took(lane, ownership.refusedBy);
    this.#handOverTo = undefined;
    this.#state = 'starting';
    this.#options.gauges.owned.set(1);
    const renewing = setInterval(() => void this.#renew(ownership), config.LEASE_MS / 6);
    try {
      await this.#runOwned(ownership);
    } finally {
      clearInterval(renewing);
      shares.gaveUp(lane, this.#givenTo);
      this.#givenTo = undefined;
      // The next owner shows the state of the lane from now on.
      const { gauges, entityGauges } = this.#options;
      for (const gauge of [...Object.values({ ...gauges }), ...Object.values({ ...entityGauges })])
        gauge.set(0);
    }
  }

  async #runOwned(ownership: Ownership): Promise<void> {
    if (this.#supervisor.stopping) return this.#giveUp(ownership);
    for (let isOver = false; !isOver; ) {
      await this.#adoptions.finish(ownership);
      if (this.#supervisor.stopping) break;
      try {
        await this.#runLane(ownership);
      } catch (error) {
        this.#adoptions.drop(error);
        if (error instanceof SetAsideError && !this.#supervisor.stopping) continue;
        throw error;
      }
      isOver = this.#supervisor.stopping || !(await this.#adoptions.begin(ownership));
    }
    this.#adoptions.drop();
    await this.#giveUp(ownership);
  }

  /** Gives the lane up for the processor that is to have it, if there is one. */
  async #giveUp(ownership: Ownership): Promise<void> {
    const { lane, log, shares } = this.#options;
    const to = this.#supervisor.stopping ? shares.successorOf(lane) : this.#handOverTo;
    await ownership.giveUp(to);
    this.#givenTo = to;
    log.info({ lane, to }, 'lane given up');
  }

  /** Runs the lane until it is stopped. */
  async #runLane(ownership: Ownership): Promise<void> {
    const { lane } = this.#options;
    const owned = new Lane({
      ...this.#options,
      stream: streamOf(lane),
      subject: subjectOf(this.#name),
      name: this.#name,
      ownership,
    });
    this.#lane = owned;
    const entitySupervisor = this.#entitySupervisor(ownership);
    this.#entities = entitySupervisor;
    entitySupervisor.start();
    try {
      const startMs = performance.now();
      await owned.restore();
      const running = owned.run();
      const answering = this.#answerWhenCaughtUp(
        owned,
        startMs,
        this.#backedUp(owned, entitySupervisor, ownership),
      );
      try {
        await running;
      } finally {
        (await answering)();
      }
    } finally {
      this.#lane = undefined;
      await owned.openSessions.stop();
      await owned.live.stop();
      await entitySupervisor.stop();
      this.#entities = undefined;
      await owned.close();
    }
  }

  /** The lane's operations for a backup or a restore. */
  #backedUp(owned: Lane, entities: EntitySupervisor, ownership: Ownership): BackedUpLane {
    const { bus, lane } = this.#options;
    const reached = ({ flushNumber, clockMs }: Checkpoint): BackedLane => {
      const { grown } = ownership;
      return { flushNumber, clockMs, ...(grown === undefined ? {} : { before: grown.before }) };
    };
    return {
      versionMax: async () => entityVersionOf(await bus.streamCreatedMs(entityStreamOf(lane)), 0),
      flushNumber: () => ownership.checkpoint.flushNumber,
      restored: () => ownership.restored,
      settle: () => ownership.settleRestore(),
      atRest: (work) =>
        entities.atRest(REST_MAX_MS, () => owned.atRest(REST_MAX_MS, (at) => work(reached(at)))),
      hold: new LaneHold({
        entitiesAtRest: (work) => entities.atRest(REST_MAX_MS, work),
        eventsAtRest: (work) => owned.atRest(REST_MAX_MS, (at) => work(owned, reached(at))),
        confirm: () => ownership.renew(),
      }),
      adopt: (adoption) => this.#adoptions.ask(adoption, () => void owned.stop()),
    };
  }

  /** Renews the lease whatever the lane is doing: restoring a large state, or waiting for a slow store. */
  async #renew(ownership: Ownership): Promise<void> {
    if (!ownership.isRenewalDue) return;
    try {
      await ownership.renew();
    } catch (error) {
      // A lane that is lost is noticed at its next write.
      const { lane, log } = this.#options;
      log.warn({ lane, reason: reasonOf(error) }, 'the lease was not renewed');
    }
  }

  /** Profiles, groups and orders belong to the owner of the lane's events. */
  #entitySupervisor(ownership: Ownership): EntitySupervisor {
    const { entityMetrics: metrics, entityGauges: gauges } = this.#options;
    const { lane, layout, isAlone } = this.#options;
    return new EntitySupervisor({
      ...this.#options,
      stream: entityStreamOf(lane),
      subject: entitySubjectOf(this.#name),
      name: this.#name,
      checkpointKey: entityCheckpointKeyOf(lane),
      // An order records the lane of the time when it came, which may be before the service grew, or before a restore.
      eventSubjectOf: (recorded, event) => {
        if (isAlone) return subjectOf(lane);
        const home = layout.isGrown ? laneOfEvent(event, layout) : recorded;
        return subjectOf(laneNameOf(home, layout));
      },
      metrics,
      gauges,
      bookLimits: BOOK_LIMITS,
      confirmGap: () => ownership.renew(),
      isExpected: (error) => error instanceof FencedError,
    });
  }

  /** Begins to answer questions once everything that waited in the bus is folded. Returns how to end it. */
  async #answerWhenCaughtUp(owned: Lane, startMs: number, backedUp: BackedUpLane): Promise<() => void> {
    const { bus, lane, log } = this.#options;
    const name = this.#name;
    if (!(await this.#caughtUp(owned))) return () => {};
    const stops = [
      bus.answer(sessionLookupSubjectOf(name), {
        reply: (bytes) => owned.lookUp(bytes),
        unavailable: encodeSessionsUnavailable,
      }),
      bus.answer(openSessionsSubjectOf(name), {
        reply: (bytes) => owned.openSessions.answer(bytes),
        unavailable: encodeOpenSessionsUnavailable,
      }),
      bus.answer(liveWatchSubjectOf(name), {
        reply: (bytes) => owned.live.watch(bytes),
        unavailable: encodeLiveUnavailable,
      }),
      bus.answer(hotSubjectOf(name), {
        reply: (bytes) => owned.hot(decodeHotQuestion(bytes)),
        unavailable: (why) =>
          encodeHotAnswer({
            kind: 'unavailable',
            reason: why === 'malformed' || why === 'version' ? 'unreadable' : 'failed',
          }),
      }),
    ];
    stops.push(
      bus.answer(backupSubjectOf(name), {
        reply: (bytes) => this.#backups.answer(bytes, backedUp),
        unavailable: () => encodeBackupAnswer({ kind: 'unavailable' }),
      }),
    );
    this.#state = 'answering';
    this.#ticker = setInterval(() => void this.#tick(owned), TICK_EVERY_MS);
    log.info({ lane, ms: Math.round(performance.now() - startMs) }, 'lane caught up, answering');
    return () => {
      this.#state = 'starting';
      clearInterval(this.#ticker);
      for (const stop of stops) stop();
    };
  }

  /** False when the lane stops before. A bus that does not report its last sequence for a while only delays the answers. */
  async #caughtUp(owned: Lane): Promise<boolean> {
    const { lane, log } = this.#options;
    for (let tries = 1; ; tries += 1) {
      let reason = 'the lane is behind';
      try {
        if (await owned.catchUp(CATCH_UP_MAX_MS)) return true;
      } catch (error) {
        reason = reasonOf(error);
      }
      if (owned.isStopping) return false;
      if (tries === 1) log.warn({ lane, reason }, 'lane has not caught up, not answering yet');
      await owned.sleep(CATCH_UP_AGAIN_MS);
    }
  }

  /** Moves the clock of a lane without events, so that its silent sessions end and its hours are finalized. */
  async #tick(owned: Lane): Promise<void> {
    const { lane, bus, clock, config, log } = this.#options;
    const quiet = owned.foldedSequence === this.#lastTickedSequence;
    this.#lastTickedSequence = owned.foldedSequence;
    if (!quiet) return;
    this.#tickSequence += 1;
    const tick = tickMessage({
      publisherId: this.#tickPublisher,
      publisherSequence: this.#tickSequence,
      sentAtMs: clock.nowMs(),
    });
    try {
      const sequence = await bus.publish(subjectOf(this.#name), tick, config.PUBLISH_TIMEOUT_MS);
      this.#lastTickedSequence = sequence;
    } catch (error) {
      log.info({ lane, reason: reasonOf(error) }, 'a tick could not be published'); // The next one will do.
    }
  }
}
