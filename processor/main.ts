import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CONTROL_BUCKET } from '../infra/accounts/accounts.ts';
import { Bus } from '../infra/bus/bus.ts';
import { configuredBus } from '../infra/bus/bus-servers.ts';
import { systemClock } from '../infra/clock.ts';
import { type Config, readConfig } from '../infra/config.ts';
import { HttpServer } from '../infra/http/http.ts';
import { addOperations } from '../infra/http/operations.ts';
import { createLogger, type Logger } from '../infra/log.ts';
import { Metrics } from '../infra/metrics.ts';
import { isLoopback } from '../infra/network/exposure.ts';
import { operationsAccess } from '../infra/network/operations-access.ts';
import { agreeOnKey } from '../infra/process/agreed-key.ts';
import { followLanes, openLayouts } from '../infra/process/agreed-lanes.ts';
import { crashPoints } from '../infra/process/crashpoint.ts';
import { BusWatch, reportedDependency } from '../infra/process/dependency.ts';
import { DiskWatch } from '../infra/process/disk-watch.ts';
import { collectLessOften } from '../infra/process/heap-growth.ts';
import { exitWithParent } from '../infra/process/parent-watch.ts';
import { type LaneLayout, laneNameOf } from '../infra/process/service-lanes.ts';
import { projectRoot } from '../infra/root.ts';
import { neededShardAddresses, PerShard } from '../infra/store/store-shards.ts';
import { ALIASES_BUCKET } from '../ingest/entity-update.ts';
import { DEAD_LETTERS_STREAM, deadLetterSubjectOf } from './dead-letters/dead-letter.ts';
import { Deliverer } from './delivery/deliverer.ts';
import { createDeliveryMetrics } from './delivery/delivery-metrics.ts';
import { createFeedMetrics } from './feed/feed-metrics.ts';
import { Feeds } from './feed/feeds.ts';
import type { StateLimits } from './fold/slice-state.ts';
import { bucketOf, DELIVERIES_BUCKET, readEndpointsAllowed } from './integration.ts';
import { LANES_BUCKET, LANES_BUCKET_OPTIONS } from './lane/lane-record.ts';
import type { LaneState } from './lane/lane-supervisor.ts';
import { takeName } from './lane/namesake.ts';
import { WorkerHandle } from './lane/worker-handle.ts';
import { PreparedShards } from './layout/prepared-shards.ts';
import { ProcessorLanes, type ProcessorLanesDeps, type RunningJob } from './layout/processor-lanes.ts';
import { createLeaderJobMetrics, type LeaderJobName } from './leader-job/leader-job-metrics.ts';
import { createPurgeMetrics } from './purge/purge-metrics.ts';
import { Purger } from './purge/purger.ts';
import { RollupJob } from './rollups/rollup-job.ts';
import { createRollupMetrics } from './rollups/rollup-metrics.ts';
import { SearchConsoleJob } from './search-console/search-console-job.ts';
import { createSyncMetrics } from './search-console/sync-metrics.ts';
import { SYNCS_BUCKET } from './search-console.ts';
import { Presence } from './shares/presence.ts';

/** The most bytes of dead letters. */
const DEAD_LETTERS_BYTES_MAX = 2_147_483_648;
const SESSIONS_MAX = { large: 8_000_000, small: 200_000 };
const PUBLISHERS_MAX = 4_096;
const MINUTE_VISITORS_MAX = 1_000_000;
/** The most per shard; each takes some kilobytes. */
const SITES_MAX = 20_000;
const GRANTS_MAX = 200_000;
const STORE_TIMEOUT_MS = 120_000;
const BUCKET_TIMEOUT_MS = 60_000;
const DRAIN_MAX_MS = 18_000;

/** Opened once and used by every part of the process. */
interface Deps extends Omit<ProcessorLanesDeps, 'threads' | 'limits' | 'withoutRollups' | 'startJobs'> {
  readonly stopFollowing: () => void;
  readonly prepared: PreparedShards;
}

/** Runs work while nothing is rolled up. Lanes start before the jobs that do that. */
class RollupPause {
  jobs: readonly RollupJob[] = [];

  readonly during = (work: () => Promise<void>): Promise<void> => {
    const nothing = { hour: [], day: [] };
    const paused = this.jobs.reduce((inner, job) => () => job.withoutRollups('', nothing, inner), work);
    return paused();
  };
}

/** Runs a processor: its lanes, and the jobs of the leader (`layout/processor-lanes.ts`). */
async function main(): Promise<void> {
  const config = readConfig();
  const log = createLogger('processor', config.LOG_LEVEL);
  exitWithParent();
  if (config.SMALL === 0) collectLessOften();
  const deps = await openDeps(config, log);
  const threads = Array.from({ length: config.WORKERS }, () => new WorkerHandle(workerFile()));
  const pause = new RollupPause();
  const processorLanes = new ProcessorLanes({
    ...deps,
    threads,
    limits: limitsOf(config),
    withoutRollups: pause.during,
    startJobs: (isLeader, layout) => startJobs({ ...deps, lanes: layout.lanes, layout, isLeader }, pause),
  });
  const { http, metricsUrl } = await serveOperations(deps, processorLanes);
  drainOnSignal(deps, { processorLanes, threads, http });
  const started = deps.prepared.usable().then(() => processorLanes.start());
  // While the store is unavailable the process runs, too, and its health says what it waits for: no restart is needed.
  if (deps.prepared.isUsable) await started;
  process.stdout.write(`ready ${JSON.stringify({ metricsUrl })}\n`);
  log.info({ threads: config.WORKERS }, 'processor: running');
  await started;
}

async function openDeps(config: Config, log: Logger): Promise<Deps> {
  const metrics = new Metrics();
  const bus = await Bus.connect(
    configuredBus(config, { name: `processor ${config.INSTANCE}`, metrics }),
    log,
  );
  // Hears of the others while it waits for a namesake.
  const presence = new Presence(bus, config.INSTANCE);
  await Promise.all([takeName(bus, config.INSTANCE), agreeOnKey(bus, config.SECRETS_KEY)]);
  const shards = neededShardAddresses(config);
  const configured = { lanes: config.LANES, storeShards: shards.length };
  const { lanes, stop: stopFollowing } = await followLanes(bus, configured, log);
  await ensureDeadLetters(bus, config);
  const addresses = shards.map((shard) => ({ ...shard, requestTimeoutMs: STORE_TIMEOUT_MS }));
  const laneRecords = await bus.keyed(LANES_BUCKET, LANES_BUCKET_OPTIONS);
  const prepared = await PreparedShards.open(addresses, { laneRecords, log });
  const feeds = await Feeds.open({
    bus,
    log,
    limits: { bytesMax: config.FEED_BYTES_MAX, ageMaxMs: config.FEED_AGE_MAX_S * 1000 },
    metrics: createFeedMetrics(metrics),
  });
  return {
    config,
    log,
    metrics,
    bus,
    prepared,
    stores: prepared.stores,
    isStoreReady: (lane) => prepared.isReady(lane),
    laneRecords,
    layouts: await openLayouts(bus),
    lanes,
    stopFollowing,
    presence,
    feeds,
    crashPoint: crashPoints(config.CRASH_POINT),
  };
}

async function ensureDeadLetters(bus: Bus, { BUS_BYTES_MAX }: Config): Promise<void> {
  const bytesMax = Math.min(BUS_BYTES_MAX, DEAD_LETTERS_BYTES_MAX);
  await bus.ensureStream(DEAD_LETTERS_STREAM, deadLetterSubjectOf(0).replace(/\d+$/, '*'), bytesMax);
}

/** Starts the jobs that run in one process for all: in the leader, which is the owner of the first lane. */
async function startJobs(
  deps: Omit<Deps, 'lanes'> & {
    readonly lanes: number;
    readonly layout: LaneLayout;
    readonly isLeader: () => boolean;
  },
  pause: RollupPause,
): Promise<readonly RunningJob[]> {
  const { config, metrics, bus } = deps;
  const { SECRETS_KEY: secretsKey } = config;
  const control = await bus.keyed(CONTROL_BUCKET);
  const jobDeps = (name: LeaderJobName) => ({
    ...deps,
    control,
    clock: systemClock,
    random: Math.random,
    jobMetrics: createLeaderJobMetrics(metrics, name),
  });
  const rollups = new PerShard(
    deps.stores.all.map(
      (store) =>
        new RollupJob({
          ...jobDeps('rollup'),
          store,
          intervalMs: config.ROLLUP_INTERVAL_MS,
          metrics: createRollupMetrics(metrics),
        }),
    ),
  );
  for (const rollup of rollups.all) rollup.start();
  pause.jobs = rollups.all;
  const purger = await Purger.start({
    ...jobDeps('purge'),
    nameOf: (lane) => laneNameOf(lane, deps.layout),
    aliases: await bus.keyed(ALIASES_BUCKET),
    rollups,
    metrics: createPurgeMetrics(metrics),
  });
  const endpointsAllowed = readEndpointsAllowed(config.ENDPOINTS_ALLOWED);
  const bucketOptions = { secretsKey, endpointsAllowed, timeoutMs: BUCKET_TIMEOUT_MS };
  const deliverer = await Deliverer.start({
    ...jobDeps('delivery'),
    deliveries: await bus.keyed(DELIVERIES_BUCKET),
    intervalMs: config.DELIVERY_INTERVAL_MS,
    openBucket: (integration) => bucketOf(integration, bucketOptions),
    metrics: createDeliveryMetrics(metrics),
  });
  const searchConsole = await SearchConsoleJob.start({
    ...jobDeps('search-console'),
    syncs: await bus.keyed(SYNCS_BUCKET),
    secretsKey,
    intervalMs: config.SEARCH_CONSOLE_INTERVAL_MS,
    baseUrl: config.GOOGLE_API_URL,
    metrics: createSyncMetrics(metrics),
  });
  return [...rollups.all, purger, deliverer, searchConsole];
}

/** Serves health and metrics. */
async function serveOperations(
  { config, log, metrics, bus, prepared }: Deps,
  processorLanes: ProcessorLanes,
): Promise<{ readonly http: HttpServer; readonly metricsUrl: string }> {
  const http = new HttpServer((error) => log.error({ err: error }, 'request failed'));
  const busWatch = new BusWatch(bus, systemClock);
  const disk = await DiskWatch.open(config, systemClock);
  const { METRICS_HOST: host, OPERATIONS_TOKEN: token } = config;
  // No proxy passes visitors on to it.
  const mayRead = operationsAccess({ token, isExposed: !isLoopback(host) });
  metrics.gaugeOf(
    'footfall_processor_store_shards_waited_for',
    'Shards of the store that have not answered since this processor started; their lanes do not run here.',
    {},
    () => prepared.waitedFor.length,
  );
  const readiness = () => {
    const { supervisors, isGrowing, failing } = processorLanes;
    const inState = (state: LaneState) =>
      supervisors.filter((supervisor) => supervisor.state === state).length;
    const [answering, standby] = [inState('answering'), inState('standby')];
    const { dependency } = busWatch;
    const lanes = supervisors.length;
    const { mirrorsBehind } = bus;
    const isSupplied = dependency.up && mirrorsBehind === 0 && disk?.isFree !== false;
    return {
      ready: lanes > 0 && answering + standby === lanes && failing.length === 0 && isSupplied,
      shown: {
        ...{ lanes, answering, standby, failingLanes: failing, isGrowing },
        storeShardsWaitedFor: prepared.waitedFor,
        mirrorsBehind,
        dependencies: [reportedDependency(dependency, ['processor'], config)],
        disk: disk?.reported,
      },
    };
  };
  addOperations(http, { metrics, readiness, mayRead });
  const port = await http.listen(host, config.METRICS_PORT);
  const metricsUrl = `http://${host.includes(':') ? `[${host}]` : host}:${port}/metrics`;
  return { http, metricsUrl };
}

/** On the first signal, stops jobs and lanes, and then their dependencies. */
function drainOnSignal(
  { log, bus, prepared, feeds, presence, stopFollowing }: Deps,
  running: {
    readonly processorLanes: ProcessorLanes;
    readonly threads: readonly WorkerHandle[];
    readonly http: HttpServer;
  },
): void {
  const { processorLanes, threads, http } = running;
  let isDraining = false;
  const drain = async () => {
    if (isDraining) return;
    isDraining = true;
    setTimeout(() => process.exit(1), DRAIN_MAX_MS).unref();
    presence.leave();
    await processorLanes.stop();
    presence.stop();
    stopFollowing();
    feeds.stop();
    await Promise.all(threads.map((thread) => thread.stop()));
    http.close();
    await prepared.close();
    await bus.close();
    log.info('drained');
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void drain());
}

function limitsOf(config: Config): StateLimits {
  return {
    sessionRetainMs: config.SESSION_RETAIN_MS,
    sessionsMax: config.SMALL === 1 ? SESSIONS_MAX.small : SESSIONS_MAX.large,
    eventIdsMax: config.EVENT_IDS_MAX,
    publishersMax: PUBLISHERS_MAX,
    minuteVisitorsMax: MINUTE_VISITORS_MAX,
    sitesMax: SITES_MAX,
    grantsMax: GRANTS_MAX,
  };
}

/** The built worker: beside this file in a build, or in the build's folder when this file runs from source. */
function workerFile(): string {
  const beside = fileURLToPath(new URL('./lane/worker.js', import.meta.url));
  return existsSync(beside) ? beside : join(projectRoot, 'dist/processor/lane/worker.js');
}

main().catch((error: unknown) => {
  process.stderr.write(`processor: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
