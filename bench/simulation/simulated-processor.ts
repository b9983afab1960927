import { LeaseWatch } from '../../infra/bus/lease-watch.ts';
import type { Clock } from '../../infra/clock.ts';
import { Supervisor } from '../../infra/concurrency/supervisor.ts';
import { readConfig } from '../../infra/config.ts';
import { reasonOf } from '../../infra/log.ts';
import { Counter, Metrics } from '../../infra/metrics.ts';
import type { CrashPoint } from '../../infra/process/crashpoint.ts';
import { ServiceLanes } from '../../infra/process/service-lanes.ts';
import { createFeedMetrics } from '../../processor/feed/feed-metrics.ts';
import { decodeHotQuestion, encodeHotAnswer, hotSubjectOf } from '../../processor/hot.ts';
import { Lane } from '../../processor/lane/lane.ts';
import { createLaneGauges, createLaneMetrics } from '../../processor/lane/lane-metrics.ts';
import { laneKeyOf } from '../../processor/lane/lane-record.ts';
import { FencedError, Ownership } from '../../processor/lane/ownership.ts';
import { SliceTasks } from '../../processor/lane/slice-tasks.ts';
import { type TaskThread, WorkerHandle } from '../../processor/lane/worker-handle.ts';
import { RETAIN_MS } from './arrivals.ts';
import type { Actor } from './virtual-time.ts';
import { quietLog, type World } from './world.ts';

export const LEASE_MS = 1_500;
const FLUSH_INTERVAL_MS = 200;
const TAKE_EVERY_MS = 250;
const BACKOFF = { firstMs: 100, maxMs: 1_000 };
const HEALTHY_AFTER_MS = 5_000;
const CATCH_UP_MAX_MS = 20_000;
const PARTITIONS = 4;
const TASK_MS = 4;
const SKEW_MAX_MS = 600_000;
/** Number of rows after which a flush is due immediately. */
const FLUSH_ROWS_MAX = 40;
const LIMITS = {
  sessionRetainMs: RETAIN_MS,
  sessionsMax: 1_000,
  eventIdsMax: 1_000,
  publishersMax: 1_000,
  minuteVisitorsMax: 1_000,
  sitesMax: 100,
  grantsMax: 100,
};

const METRICS = new Metrics();
const LANE_METRICS = createLaneMetrics(METRICS);
const LANE_GAUGES = createLaneGauges(METRICS, 0, () => 0);
const FEED_METRICS = createFeedMetrics(METRICS);
const CONFIGS = new Map(
  ['one', 'two', 'three'].map((name) => [
    name,
    readConfig({
      INSTANCE: name,
      LEASE_MS: String(LEASE_MS),
      FLUSH_INTERVAL_MS: String(FLUSH_INTERVAL_MS),
      FLUSH_ROWS_MAX: String(FLUSH_ROWS_MAX),
    }),
  ]),
);

/** Hooks between an owner and its parts, where a test plants a mistake; none by default. */
export interface Mistakes {
  readonly ownership?: (world: World, ownership: Ownership, lane: number) => void;
  readonly thread?: (thread: TaskThread) => TaskThread;
}

/** One process that may own lanes: it starts, dies, pauses and ends. */
export class SimulatedProcessor {
  readonly #world: World;
  readonly name: string;
  readonly #mistakes: Mistakes;
  /** The share of crash points at which it dies. */
  crashShare = 0;
  #life: Life | undefined;

  constructor(world: World, name: string, mistakes: Mistakes) {
    this.#world = world;
    this.name = name;
    this.#mistakes = mistakes;
  }

  get isRunning(): boolean {
    return this.#life?.actor.isAlive === true && !this.#life.isStopping;
  }

  start(): void {
    if (this.#life?.actor.isAlive === true) return;
    const { time } = this.#world;
    const actor = { name: this.name, isAlive: true, pausedUntilMs: 0, cutOffUntilMs: 0 };
    const crash = (point: CrashPoint) => {
      if (this.crashShare === 0 || !time.random.chance(this.crashShare)) return;
      this.#world.network.count(`deaths ${point}`);
      actor.isAlive = false;
      time.plan(time.random.below(LEASE_MS * 2), undefined, `${this.name} restarts`, () => this.start());
      throw new Error('dead');
    };
    const life = new Life(this.#world, actor, this.#mistakes, crash);
    this.#life = life;
    time.plan(0, actor, 'starts', () => life.start());
  }

  /** Kills it; it starts again after a while. */
  kill(downMs: number): void {
    if (this.#life?.actor.isAlive !== true) return;
    this.#world.network.count('kills');
    this.#life.actor.isAlive = false;
    this.#world.time.plan(downMs, undefined, `${this.name} restarts`, () => this.start());
  }

  /** Pauses it; its outstanding requests continue meanwhile. */
  pause(ms: number): void {
    const actor = this.#life?.actor;
    if (actor?.isAlive !== true) return;
    this.#world.network.count(ms > LEASE_MS ? 'pauses beyond a lease' : 'pauses');
    actor.pausedUntilMs = Math.max(actor.pausedUntilMs, this.#world.time.nowMs + ms);
  }

  /** Cuts it off from the bus, and not from the store. */
  cutOff(ms: number): void {
    const actor = this.#life?.actor;
    if (actor?.isAlive !== true) return;
    this.#world.network.count('processes that were cut off from the bus');
    actor.cutOffUntilMs = Math.max(actor.cutOffUntilMs, this.#world.time.nowMs + ms);
  }

  /** Lets it give one lane up, and compete for it again after a while. */
  handOver(lane: number, restMs: number): void {
    if (!this.isRunning) return;
    this.#world.network.count('lanes handed over');
    this.#life?.handOver(lane, restMs);
  }

  /** Ends it in order; resolves then, or when it dies before. */
  async stop(): Promise<void> {
    const life = this.#life;
    if (life === undefined) return;
    await life.stop();
    life.actor.isAlive = false;
  }
}

/** A process from its start to its death. */
class Life {
  readonly actor: Actor;
  readonly #world: World;
  readonly #mistakes: Mistakes;
  readonly #crash: (point: CrashPoint) => void;
  /** For each lane. */
  readonly #threads: number;
  readonly #owners: LaneOwner[];
  /** Its clock is wrong by this. */
  readonly #skewMs: number;
  isStopping = false;

  constructor(world: World, actor: Actor, mistakes: Mistakes, crash: (point: CrashPoint) => void) {
    this.#world = world;
    this.actor = actor;
    this.#mistakes = mistakes;
    this.#crash = crash;
    this.#threads = world.time.random.integer(1, 2);
    this.#skewMs = world.time.random.integer(-SKEW_MAX_MS, SKEW_MAX_MS);
    this.#owners = Array.from({ length: world.lanes }, (_, lane) => this.#owner(lane));
  }

  start(): void {
    for (const owner of this.#owners) owner.start();
  }

  handOver(lane: number, restMs: number): void {
    const { time } = this.#world;
    time.plan(0, this.actor, `hands lane ${lane} over`, () => {
      const owner = this.#owners[lane];
      void owner?.stop().then(() => {
        time.plan(restMs, this.actor, `competes for lane ${lane} again`, () => {
          if (this.isStopping || this.#owners[lane] !== owner) return;
          const next = this.#owner(lane);
          this.#owners[lane] = next;
          next.start();
        });
      });
    });
  }

  /** Resolves when all lanes are given up, or when it dies. */
  stop(): Promise<void> {
    this.isStopping = true;
    const { time } = this.#world;
    return new Promise((resolve) => {
      const look = () => {
        if (!this.actor.isAlive) return resolve();
        time.plan(50, undefined, 'looks whether it has ended', look);
      };
      look();
      time.plan(0, this.actor, 'stops', () => {
        void Promise.all(this.#owners.map((owner) => owner.stop())).then(() => {
          // Resolves outside this actor, so the waiting step continues as itself.
          time.plan(0, undefined, 'has ended', resolve);
        });
      });
    });
  }

  #owner(lane: number): LaneOwner {
    return new LaneOwner(this.#world, {
      lane,
      actor: this.actor,
      threads: Array.from({ length: this.#threads }, () => new WorkerHandle('', () => this.#thread())),
      mistakes: this.#mistakes,
      crash: this.#crash,
      clock: { nowMs: () => this.#world.time.dateMs + this.#skewMs },
    });
  }

  /** A thread that does one task after the other, each after a while. */
  #thread(): TaskThread {
    const { time } = this.#world;
    const tasks = new SliceTasks();
    let freeMs = 0;
    const thread: TaskThread = {
      run: (task) =>
        new Promise((resolve, reject) => {
          if (!this.actor.isAlive) return;
          freeMs = Math.max(freeMs, time.nowMs) + time.random.next() * TASK_MS;
          time.plan(freeMs - time.nowMs, this.actor, `does ${task.kind}`, () => {
            try {
              resolve(tasks.run(task));
            } catch (error) {
              reject(error);
            }
          });
        }),
      destroy: async () => {},
    };
    return this.#mistakes.thread?.(thread) ?? thread;
  }
}

interface OwnerOptions {
  readonly lane: number;
  readonly actor: Actor;
  readonly threads: readonly WorkerHandle[];
  readonly mistakes: Mistakes;
  readonly crash: (point: CrashPoint) => void;
  readonly clock: Clock;
}

/** Takes a lane over when it is free and runs it, as `lane-supervisor.ts` does, without entities, backups and ticks. */
class LaneOwner {
  readonly #world: World;
  readonly #options: OwnerOptions;
  readonly #supervisor: Supervisor;
  readonly #watch = new LeaseWatch();
  #lane: Lane | undefined;
  #ownership: Ownership | undefined;

  constructor(world: World, options: OwnerOptions) {
    this.#world = world;
    this.#options = options;
    const { lane, actor } = options;
    const log = quietLog((reason) => world.laws.onFailure(actor.name, reason));
    const random = () => world.time.random.next();
    this.#supervisor = new Supervisor({
      name: 'lane',
      fields: { lane },
      log,
      clock: options.clock,
      random,
      backoff: BACKOFF,
      healthyAfterMs: HEALTHY_AFTER_MS,
      failures: new Counter(),
      run: () => this.#own(),
      interrupt: async () => this.#lane?.stop(),
      isExpected: (error) => {
        if (error instanceof FencedError) world.network.count('owners that were fenced');
        else if (actor.isAlive) world.network.count('failures of a lane');
        return error instanceof FencedError || !actor.isAlive;
      },
    });
  }

  start(): void {
    this.#supervisor.start();
  }

  stop(): Promise<void> {
    return this.#supervisor.stop();
  }

  async #own(): Promise<void> {
    const { lane, actor, mistakes, clock } = this.#options;
    const { bus, laws } = this.#world;
    const ownership = await Ownership.take({
      records: bus.keyed(),
      lane,
      key: laneKeyOf(lane),
      division: { slices: this.#options.threads.length, partitions: PARTITIONS },
      owner: actor.name,
      leaseMs: LEASE_MS,
      watch: this.#watch,
      clock,
    });
    if (ownership === undefined) return this.#supervisor.sleep(TAKE_EVERY_MS);
    laws.onTaken(actor, lane);
    this.#world.network.count('lanes taken over');
    mistakes.ownership?.(this.#world, ownership, lane);
    this.#ownership = ownership;
    watchFences(ownership, () => {
      // A renewal of the time before may be answered late, when this process may have the lane again.
      if (this.#ownership === ownership) laws.onFenced(actor, lane);
    });
    try {
      await this.#runOwned(ownership);
      await ownership.giveUp();
      this.#world.network.count('lanes given up');
    } finally {
      this.#ownership = undefined;
    }
  }

  async #runOwned(ownership: Ownership): Promise<void> {
    const renewing = setInterval(() => void renew(ownership), LEASE_MS / 6);
    try {
      if (!this.#supervisor.stopping) await this.#run(ownership);
    } finally {
      clearInterval(renewing);
    }
  }

  async #run(ownership: Ownership): Promise<void> {
    const { lane, threads, crash, actor, clock } = this.#options;
    const { time, bus, store, network, laws } = this.#world;
    const log = quietLog((reason) => laws.onFailure(actor.name, reason));
    const config = CONFIGS.get(actor.name);
    if (config === undefined) throw new Error(`there are no settings for ${actor.name}`);
    const owned = new Lane({
      config,
      isAlone: false,
      storeShards: 1,
      lane,
      stream: this.#world.streamOf(lane),
      subject: this.#world.streamOf(lane),
      name: lane,
      ownership,
      threads,
      bus: bus.asBus,
      store,
      feeds: {
        sites: this.#world.fedSites,
        limits: { bytesMax: 1_000_000, ageMaxMs: 1_000_000 },
        metrics: FEED_METRICS,
      },
      limits: LIMITS,
      layout: ServiceLanes.fixed(1).layout,
      log,
      clock,
      random: () => time.random.next(),
      metrics: LANE_METRICS,
      gauges: LANE_GAUGES,
      crashPoint: crash,
    });
    this.#lane = owned;
    try {
      if (ownership.intent !== null) network.count('unfinished flushes that were found');
      await owned.restore();
      const running = owned.run();
      const answering = this.#answer(owned);
      try {
        await running;
      } finally {
        (await answering)();
      }
    } finally {
      this.#lane = undefined;
      await owned.openSessions.stop();
      await owned.live.stop();
      await owned.close();
    }
  }

  /** Answers questions about hot rows once the lane has caught up. */
  async #answer(owned: Lane): Promise<() => void> {
    try {
      if (!(await owned.catchUp(CATCH_UP_MAX_MS))) return () => {};
    } catch {
      return () => {};
    }
    return this.#world.bus.answer(hotSubjectOf(this.#options.lane), {
      reply: (bytes) => owned.hot(decodeHotQuestion(bytes)),
      unavailable: () => encodeHotAnswer({ kind: 'unavailable', reason: 'failed' }),
    });
  }
}

async function renew(ownership: Ownership): Promise<void> {
  if (!ownership.isRenewalDue) return;
  await ownership.renew().catch((error: unknown) => reasonOf(error)); // A lost lane is noticed at its next write.
}

/** Calls `fenced` as soon as an owner learns that it lost the lane. */
function watchFences(ownership: Ownership, fenced: () => void): void {
  for (const name of ['declare', 'complete', 'renew', 'giveUp'] as const) {
    const write = ownership[name].bind(ownership) as (...args: readonly unknown[]) => Promise<void>;
    const watched = (...args: readonly unknown[]) =>
      write(...args).catch((error: unknown) => {
        if (error instanceof FencedError) fenced();
        throw error;
      });
    Object.assign(ownership, { [name]: watched });
  }
}
