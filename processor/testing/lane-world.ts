import { join } from 'node:path';
import { must } from '../../infra/assert.ts';
import { Bus } from '../../infra/bus/bus.ts';
import { type Clock, systemClock } from '../../infra/clock.ts';
import { readConfig } from '../../infra/config.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import { createLogger } from '../../infra/log.ts';
import { Metrics } from '../../infra/metrics.ts';
import { agreeOnLanes } from '../../infra/process/agreed-lanes.ts';
import type { CrashPoint } from '../../infra/process/crashpoint.ts';
import { ServiceLanes } from '../../infra/process/service-lanes.ts';
import { projectRoot } from '../../infra/root.ts';
import { migrate } from '../../infra/store/migrate.ts';
import { Store } from '../../infra/store/store.ts';
import { StoreError } from '../../infra/store/store-error.ts';
import { PerShard } from '../../infra/store/store-shards.ts';
import { until } from '../../infra/testing/look-again.ts';
import { startNatsServer } from '../../infra/testing/nats-server.ts';
import type { ReplicasOptions } from '../../infra/testing/replicas.ts';
import type { StoreServer } from '../../infra/testing/store-server.ts';
import { startStoreTarget } from '../../infra/testing/store-target.ts';
import { entityStreamOf, entitySubjectOf } from '../../ingest/entity-update.ts';
import { streamOf, subjectOf } from '../../ingest/event.ts';
import { DEAD_LETTERS_STREAM } from '../dead-letters/dead-letter.ts';
import { createEntityGauges, createEntityMetrics, type EntityMetrics } from '../entities/entity-metrics.ts';
import { createFeedMetrics } from '../feed/feed-metrics.ts';
import { Feeds } from '../feed/feeds.ts';
import { createLaneGauges, createLaneMetrics, type LaneMetrics } from '../lane/lane-metrics.ts';
import { LANES_BUCKET, LANES_BUCKET_OPTIONS } from '../lane/lane-record.ts';
import { LaneSupervisor } from '../lane/lane-supervisor.ts';
import { type TaskThread, WorkerHandle } from '../lane/worker-handle.ts';
import { LaneShares } from '../shares/lane-shares.ts';
import { preparedStore } from './prepared-store.ts';
import { TEST_LIMITS } from './run.ts';

const BUS_BYTES_MAX = 268_435_456;

/** A supervisor as the processor runs it, with threads of its own. */
export interface RunningLane {
  readonly supervisor: LaneSupervisor;
  readonly metrics: LaneMetrics;
  readonly entityMetrics: EntityMetrics;
  /** All its metrics, as Prometheus reads them. */
  shown(): string;
  stop(): Promise<void>;
}

export interface LaneStart {
  readonly lane: number;
  readonly instance: string;
  /** See `LaneOptions`; false by default. */
  readonly isAlone?: boolean;
  /** 1 by default. */
  readonly threads?: number;
  /** Runs the tasks of each thread; a worker thread by default. */
  readonly taskThread?: () => TaskThread;
  readonly env?: Readonly<Record<string, string>>;
  /** The system's by default. */
  readonly clock?: Clock;
  /** May throw, which ends the lane as a crash at that point would. */
  readonly crashPoint?: (point: CrashPoint) => void;
  /** True for rows that the lane's store refuses as unreadable; none by default. */
  readonly refusesRows?: (rows: Buffer) => boolean;
  /** Called before each call that the lane makes to its bus, its records, its store and its thread. */
  readonly beforeCall?: (supervisor: LaneSupervisor, call: string) => void;
}

/** A bus and a store of one test file, and the lanes that run on them. */
export interface LaneWorld {
  readonly bus: Bus;
  /** Metrics of the bus. */
  readonly busMetrics: Metrics;
  readonly busUrl: string;
  readonly store: Store;
  readonly feeds: Feeds;
  readonly server: StoreServer;
  /** Creates the streams of a lane. */
  open(lane: number): Promise<void>;
  start(options: LaneStart): Promise<RunningLane>;
  /** Stops the lanes that still run. */
  stopLanes(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a world whose database is `name`, with replicas in front of its store if `replicas` is given. */
export async function startLaneWorld(name: string, replicas?: ReplicasOptions): Promise<LaneWorld> {
  const log = createLogger(name, 'silent');
  const nats = await startNatsServer();
  const target = await startStoreTarget({
    ...{ database: name, prepared: preparedStore },
    ...(replicas === undefined ? {} : { replicas }),
  });
  const busMetrics = new Metrics();
  const bus = await Bus.connect({ url: nats.url, name, metrics: busMetrics }, log);
  await agreeOnLanes(bus, { lanes: 0, storeShards: 1 });
  const { url, database, cluster } = target;
  const store = new Store({ url, database, cluster, requestTimeoutMs: 30_000 });
  await migrate(store, join(projectRoot, 'processor/schema'));
  await bus.ensureStream(DEAD_LETTERS_STREAM, 'dead-letters.*', BUS_BYTES_MAX);
  const feeds = await Feeds.open({
    bus,
    log,
    limits: { bytesMax: BUS_BYTES_MAX, ageMaxMs: HOUR_MS },
    metrics: createFeedMetrics(new Metrics()),
  });
  const running: RunningLane[] = [];
  const stopLanes = async () => {
    for (const started of running.splice(0)) await started.stop();
  };
  return {
    bus,
    busMetrics,
    busUrl: nats.url,
    store,
    feeds,
    get server() {
      return must(target.server, 'the store of this test is embedded');
    },
    open: async (lane) => {
      await bus.ensureStream(streamOf(lane), subjectOf(lane), BUS_BYTES_MAX);
      await bus.ensureStream(entityStreamOf(lane), entitySubjectOf(lane), BUS_BYTES_MAX);
    },
    start: async ({
      lane,
      instance,
      isAlone = false,
      threads: threadCount = 1,
      taskThread,
      env,
      clock = systemClock,
      crashPoint,
      refusesRows,
      beforeCall = () => {},
    }) => {
      const metrics = new Metrics();
      const threads = Array.from(
        { length: threadCount },
        () => new WorkerHandle(join(projectRoot, 'dist/processor/lane/worker.js'), taskThread),
      );
      const laneMetrics = createLaneMetrics(metrics);
      const entityMetrics = createEntityMetrics(metrics);
      const beforeEach = (call: string) => beforeCall(supervisor, call);
      const shares = new LaneShares({
        ...{ lanes: 1, instance, log, handOvers: laneMetrics.handOvers },
        ...{ others: () => [], onChange: () => {}, onOffer: () => {} },
      });
      const own = watched(refusing(store, refusesRows), beforeEach);
      const supervisor: LaneSupervisor = new LaneSupervisor({
        lane,
        shares,
        withoutRollups: (work) => work(),
        config: readConfig({ FLUSH_INTERVAL_MS: '50', LEASE_MS: '1000', INSTANCE: instance, ...env }),
        limits: TEST_LIMITS,
        bus: watched(bus, beforeEach),
        feeds,
        records: watched(await bus.keyed(LANES_BUCKET, LANES_BUCKET_OPTIONS), beforeEach),
        store: own,
        stores: new PerShard([own]),
        isAlone,
        layout: ServiceLanes.fixed(1).layout,
        storeShards: 1,
        threads: threads.map((thread) => watched(thread, beforeEach)),
        log,
        clock,
        random: Math.random,
        metrics: laneMetrics,
        gauges: createLaneGauges(metrics, lane, () => Date.now()),
        entityMetrics,
        entityGauges: createEntityGauges(metrics, lane),
        crashPoint: crashPoint ?? (() => {}),
      });
      supervisor.start();
      const stop = once(() => stopSupervisor(supervisor, threads));
      const shown = () => metrics.expose();
      const started = { supervisor, metrics: laneMetrics, entityMetrics, shown, stop };
      running.push(started);
      return started;
    },
    stopLanes,
    stop: async () => {
      await stopLanes();
      feeds.stop();
      await bus.close();
      await store.close();
      await target.stop();
      await nats.stop();
    },
  };
}

/** Resolves when the lane has caught up and answers questions. */
export async function answering({ supervisor }: RunningLane): Promise<void> {
  await until('the lane to answer', () => supervisor.state === 'answering' || undefined);
}

async function stopSupervisor(supervisor: LaneSupervisor, threads: readonly WorkerHandle[]): Promise<void> {
  await supervisor.stop();
  for (const thread of threads) await thread.stop();
}

/** The same store, which refuses some rows as a server refuses unreadable ones. */
function refusing(store: Store, refuses: ((rows: Buffer) => boolean) | undefined): Store {
  if (refuses === undefined) return store;
  const refused = new StoreError('the store refuses it', { kind: 'poison', failure: 'server', code: 33 });
  return new Proxy(store, {
    get: (target, name) => {
      const member = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      if (name !== 'insertRowBinary') return member.bind(target);
      return (...args: Parameters<Store['insertRowBinary']>) =>
        args[2].some((chunk) => refuses(Buffer.from(chunk)))
          ? Promise.reject(refused)
          : target.insertRowBinary(...args);
    },
  });
}

/** The same object, with a callback before each call of a method. */
function watched<T extends object>(part: T, beforeCall: (call: string) => void): T {
  return new Proxy(part, {
    get: (target, name) => {
      const member = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) => {
        beforeCall(String(name));
        return member.apply(target, args);
      };
    },
  });
}

function once(stop: () => Promise<void>): () => Promise<void> {
  let stopping: Promise<void> | undefined;
  return () => {
    stopping ??= stop();
    return stopping;
  };
}
