import type { Bus } from '../../infra/bus/bus.ts';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { systemClock } from '../../infra/clock.ts';
import { Notify } from '../../infra/concurrency/notify.ts';
import type { Config } from '../../infra/config.ts';
import type { Logger } from '../../infra/log.ts';
import type { Metrics } from '../../infra/metrics.ts';
import type { CrashPoint } from '../../infra/process/crashpoint.ts';
import type { LaneLayout, ServiceLanes } from '../../infra/process/service-lanes.ts';
import type { Store } from '../../infra/store/store.ts';
import type { PerShard } from '../../infra/store/store-shards.ts';
import { ensureLaneStreams } from '../../ingest/entity-update.ts';
import { BOOK_LIMITS } from '../entities/entity-book.ts';
import { createEntityGauges, createEntityMetrics, type EntityMetrics } from '../entities/entity-metrics.ts';
import type { Feeds } from '../feed/feeds.ts';
import type { StateLimits } from '../fold/slice-state.ts';
import { createLaneGauges, createLaneMetrics, type LaneMetrics } from '../lane/lane-metrics.ts';
import { LaneSupervisor } from '../lane/lane-supervisor.ts';
import { shareOfLimits } from '../lane/slices.ts';
import type { WorkerHandle } from '../lane/worker-handle.ts';
import { LaneShares } from '../shares/lane-shares.ts';
import type { Presence } from '../shares/presence.ts';
import { Growth, type GrowthOptions } from './growth.ts';

const AGAIN_MS = 1_000;

/** A job that runs in one process for all. */
export interface RunningJob {
  stop(): Promise<void>;
}

/** Dependencies of a processor's lanes. */
export interface ProcessorLanesDeps {
  readonly config: Config;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly bus: Bus;
  readonly stores: PerShard<Store>;
  /** True if the tables of the lane's store shard are right. */
  readonly isStoreReady: (lane: number) => boolean;
  readonly laneRecords: KeyedBytes;
  /** The bucket of the layout. */
  readonly layouts: KeyedBytes;
  readonly lanes: ServiceLanes;
  readonly presence: Presence;
  readonly feeds: Feeds;
  readonly threads: readonly WorkerHandle[];
  readonly limits: StateLimits;
  readonly crashPoint: (point: CrashPoint) => void;
  /** See `LaneSupervisorOptions`. */
  readonly withoutRollups: (work: () => Promise<void>) => Promise<void>;
  /** Starts the jobs that run in one process for all. */
  readonly startJobs: (isLeader: () => boolean, layout: LaneLayout) => Promise<readonly RunningJob[]>;
}

/** The lanes and jobs of one layout. */
interface RunningLayout {
  readonly layout: LaneLayout;
  readonly supervisors: readonly LaneSupervisor[];
  readonly shares: LaneShares;
  readonly jobs: readonly RunningJob[];
}

/**
 * A supervisor for each lane of the service, the share of this process among all processors, and the jobs of the leader. When the service
 * is to grow, all of them stop, one processor does it (`Growth`), and they start again for the new lanes.
 */
export class ProcessorLanes {
  readonly #deps: ProcessorLanesDeps;
  readonly #laneMetrics: LaneMetrics;
  readonly #entityMetrics: EntityMetrics;
  #running: RunningLayout | undefined;
  #growth: Growth | undefined;
  readonly #change = new Notify();
  #starting: Promise<void> | undefined;
  #stopping = false;
  #following: Promise<void> | undefined;

  constructor(deps: ProcessorLanesDeps) {
    this.#deps = deps;
    this.#laneMetrics = createLaneMetrics(deps.metrics);
    this.#entityMetrics = createEntityMetrics(deps.metrics);
    deps.metrics.gaugeOf(
      'footfall_processor_lanes',
      'Lanes that the service has, as this processor runs them; 0 while the service grows to more, and until a shard of the store is ready.',
      {},
      () => this.supervisors.length,
    );
    deps.metrics.gaugeOf(
      'footfall_processor_others',
      'Other processors that were heard of within the last seconds.',
      {},
      () => deps.presence.others().length,
    );
  }

  /** One for each lane that the service has now; none while it grows, and before the start. */
  get supervisors(): readonly LaneSupervisor[] {
    return this.#running?.supervisors ?? [];
  }

  /** True if the service is growing, so that no lane answers. */
  get isGrowing(): boolean {
    return this.#following !== undefined && this.#running === undefined;
  }

  /** Takes part in the shares, and begins to work on lanes. After `stop` it does nothing. */
  async start(): Promise<void> {
    if (this.#stopping) return;
    this.#starting = this.#start();
    await this.#starting;
  }

  /** The lanes that are restarted again and again. */
  get failing(): readonly number[] {
    return this.supervisors.flatMap(({ isFailing }, lane) => (isFailing ? [lane] : []));
  }

  /** Flushes everything folded, and gives all lanes up. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#change.end();
    // If it fails, `start` rejects.
    await this.#starting?.catch(() => {});
    await this.#growth?.stop();
    await this.#following;
    await this.#stopLanes();
  }

  async #start(): Promise<void> {
    const { lanes, presence } = this.#deps;
    presence.begin({
      owned: () => this.#running?.shares.owned ?? 0,
      failing: () => this.failing,
      onOffer: (lane) => this.supervisors[lane]?.wake(),
    });
    await this.#startLanes();
    const unlisten = lanes.onChange(() => this.#change.wake());
    this.#following = this.#follow().finally(unlisten);
  }

  async #follow(): Promise<void> {
    const { lanes } = this.#deps;
    while (!this.#stopping) {
      const { lanes: count, growingTo } = lanes.layout;
      if (growingTo === undefined && count === this.#running?.layout.lanes) {
        await this.#change.wait();
        continue;
      }
      await this.#stopLanes();
      await this.#repeated('grow', () => this.#grow());
      await this.#repeated('start its lanes', () => this.#startLanes());
    }
  }

  /** Tries until it succeeds, or this process stops. */
  async #repeated(what: string, work: () => Promise<void>): Promise<void> {
    while (!this.#stopping) {
      try {
        return await work();
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        this.#deps.log.error({ reason }, `the processor could not ${what}, trying again`);
        await this.#change.sleep(AGAIN_MS);
      }
    }
  }

  /** Lets the service grow, or waits until another processor has done that. Returns early when this process stops. */
  async #grow(): Promise<void> {
    const { lanes } = this.#deps;
    while (lanes.layout.growingTo !== undefined && !this.#stopping) {
      const growth = new Growth(this.#growthOptions());
      this.#growth = growth;
      lanes.take(await growth.grow());
    }
    this.#growth = undefined;
  }

  #growthOptions(): GrowthOptions {
    const { config, laneRecords, layouts, lanes } = this.#deps;
    return {
      ofLane: (lane) => ({
        ...this.#laneDeps(lane, lanes.count),
        records: laneRecords,
        entityMetrics: this.#entityMetrics,
        bookLimits: BOOK_LIMITS,
      }),
      laneRecords,
      layouts,
      bytesMax: config.BUS_BYTES_MAX,
    };
  }

  /** Dependencies of one lane out of `count`. */
  #laneDeps(lane: number, count: number) {
    const { config, metrics, threads, limits, stores } = this.#deps;
    return {
      ...this.#deps,
      config: { ...config, FLUSH_BYTES_MAX: Math.ceil(config.FLUSH_BYTES_MAX / count) },
      lane,
      layout: this.#deps.lanes.layout,
      store: stores.ofLane(lane),
      storeShards: stores.all.length,
      limits: shareOfLimits(limits, count),
      threads: threadsOf(lane, threads, count),
      clock: systemClock,
      random: Math.random,
      metrics: this.#laneMetrics,
      gauges: createLaneGauges(metrics, lane, () => Date.now()),
      entityGauges: createEntityGauges(metrics, lane),
    };
  }

  async #startLanes(): Promise<void> {
    const { config, log, bus, lanes, laneRecords, presence, startJobs } = this.#deps;
    const { layout } = lanes;
    await ensureLaneStreams(bus, layout, config.BUS_BYTES_MAX);
    const shares = new LaneShares({
      ...{ lanes: layout.lanes, instance: config.INSTANCE, log, handOvers: this.#laneMetrics.handOvers },
      others: () => presence.others(),
      onChange: () => presence.tell(),
      onOffer: (lane, to) => presence.offer(lane, to),
    });
    const supervisors = Array.from({ length: layout.lanes }, (_, lane) => {
      return new LaneSupervisor({
        ...this.#laneDeps(lane, layout.lanes),
        layout,
        shares,
        records: laneRecords,
        isAlone: layout.lanes === 1,
        isStoreReady: () => this.#deps.isStoreReady(lane),
        entityMetrics: this.#entityMetrics,
      });
    });
    for (const supervisor of supervisors) supervisor.start();
    shares.balance(supervisors);
    const started = { layout, supervisors, shares };
    this.#running = { ...started, jobs: [] };
    try {
      const jobs = await startJobs(() => supervisors[0]?.state === 'answering', layout);
      this.#running = { ...started, jobs };
    } catch (error) {
      await this.#stopLanes();
      throw error;
    }
  }

  async #stopLanes(): Promise<void> {
    const running = this.#running;
    if (running === undefined) return;
    const { shares, jobs, supervisors } = running;
    shares.stop();
    await Promise.all([...jobs, ...supervisors].map((one) => one.stop()));
    this.#running = undefined;
  }
}

/** The threads of one lane: with several lanes they are shared out, and each lane folds on as few as keep all of them busy. */
function threadsOf(lane: number, threads: readonly WorkerHandle[], lanes: number): readonly WorkerHandle[] {
  const count = Math.ceil(threads.length / lanes);
  const first = (lane * count) % threads.length;
  return [...threads.slice(first), ...threads.slice(0, first)].slice(0, count);
}
