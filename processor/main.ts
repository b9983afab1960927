import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CONTROL_BUCKET } from '../infra/accounts/accounts.ts';
import { Bus } from '../infra/bus/bus.ts';
import { systemClock } from '../infra/clock.ts';
import { type Config, readConfig } from '../infra/config.ts';
import { HttpServer } from '../infra/http/http.ts';
import { addOperations } from '../infra/http/operations.ts';
import { createLogger } from '../infra/log.ts';
import { Metrics } from '../infra/metrics.ts';
import { crashPoints } from '../infra/process/crashpoint.ts';
import { exitWithParent } from '../infra/process/parent-watch.ts';
import { projectRoot } from '../infra/root.ts';
import { migrate } from '../infra/store/migrate.ts';
import { Store } from '../infra/store/store.ts';
import { ALIASES_BUCKET, entityStreamOf, entitySubjectOf } from '../ingest/entity-update.ts';
import { streamOf, subjectOf } from '../ingest/event.ts';
import { DEAD_LETTERS_STREAM, deadLetterSubjectOf } from './dead-letters/dead-letter.ts';
import { Deliverer } from './delivery/deliverer.ts';
import { createDeliveryMetrics } from './delivery/delivery-metrics.ts';
import { createEntityGauges, createEntityMetrics } from './entities/entity-metrics.ts';
import { createFeedMetrics } from './feed/feed-metrics.ts';
import { Feeds } from './feed/feeds.ts';
import type { PartitionLimits } from './fold/partition.ts';
import { bucketOf, DELIVERIES_BUCKET, readEndpointsAllowed } from './integration.ts';
import { createLaneGauges, createLaneMetrics } from './lane/lane-metrics.ts';
import { LANES_BUCKET } from './lane/lane-record.ts';
import { PartitionSupervisor } from './lane/partition-supervisor.ts';
import { WorkerHandle } from './lane/worker-handle.ts';
import { createPurgeMetrics } from './purge/purge-metrics.ts';
import { Purger } from './purge/purger.ts';
import { RollupJob } from './rollups/rollup-job.ts';
import { createRollupMetrics } from './rollups/rollup-metrics.ts';

const SESSIONS_MAX = 8_000_000;
const PUBLISHERS_MAX = 4_096;
const MINUTE_VISITORS_MAX = 1_000_000;
const GRANTS_MAX = 200_000;
const STORE_TIMEOUT_MS = 120_000;
const BUCKET_TIMEOUT_MS = 60_000;
const DRAIN_MAX_MS = 18_000;

/** Runs a processor: one keeper for each partition, their states spread over single-thread pools. */
async function main(): Promise<void> {
  const config = readConfig();
  const log = createLogger('processor', config.LOG_LEVEL);
  exitWithParent();
  const metrics = new Metrics();
  const bus = await Bus.connect({ url: config.NATS_URL, name: `processor ${config.INSTANCE}`, metrics }, log);
  for (let partition = 0; partition < config.PARTITIONS; partition += 1) {
    await bus.ensureStream(streamOf(partition), subjectOf(partition), config.BUS_BYTES_MAX);
    await bus.ensureStream(entityStreamOf(partition), entitySubjectOf(partition), config.BUS_BYTES_MAX);
  }
  await bus.ensureStream(
    DEAD_LETTERS_STREAM,
    deadLetterSubjectOf(0).replace(/\d+$/, '*'),
    config.BUS_BYTES_MAX,
  );
  const store = new Store({
    url: config.CLICKHOUSE_URL,
    database: config.CLICKHOUSE_DATABASE,
    requestTimeoutMs: STORE_TIMEOUT_MS,
  });
  await migrate(store, join(projectRoot, 'processor/schema'));
  const workers = Array.from(
    { length: Math.min(config.WORKERS, config.PARTITIONS) },
    () => new WorkerHandle(workerFile()),
  );
  const records = await bus.keyed(LANES_BUCKET);
  const laneMetrics = createLaneMetrics(metrics);
  const entityMetrics = createEntityMetrics(metrics);
  const crashPoint = crashPoints(config.CRASH_POINT);
  const feeds = await Feeds.open({
    bus,
    log,
    limits: { bytesMax: config.FEED_BYTES_MAX, ageMaxMs: config.FEED_AGE_MAX_S * 1000 },
    metrics: createFeedMetrics(metrics),
  });
  const supervisors = Array.from({ length: config.PARTITIONS }, (_, partition) => {
    const worker = workers[partition % workers.length];
    if (worker === undefined) throw new Error('a processor needs a worker');
    return new PartitionSupervisor({
      partition,
      config,
      limits: limitsOf(config),
      bus,
      feeds,
      records,
      store,
      worker,
      log,
      clock: systemClock,
      random: Math.random,
      metrics: laneMetrics,
      gauges: createLaneGauges(metrics, partition, () => Date.now()),
      entityMetrics,
      entityGauges: createEntityGauges(metrics, partition),
      crashPoint,
    });
  });
  for (const supervisor of supervisors) supervisor.start();
  const rollupJob = new RollupJob({
    store,
    records,
    partitions: config.PARTITIONS,
    intervalMs: config.ROLLUP_INTERVAL_MS,
    clock: systemClock,
    log,
    metrics: createRollupMetrics(metrics),
    // Whoever owns the first partition does it for all.
    isOurs: () => supervisors[0]?.answering === true,
  });
  rollupJob.start();
  const purger = await Purger.start({
    bus,
    lanes: records,
    control: await bus.keyed(CONTROL_BUCKET),
    aliases: await bus.keyed(ALIASES_BUCKET),
    partitions: config.PARTITIONS,
    clock: systemClock,
    store,
    rollupJob,
    log,
    metrics: createPurgeMetrics(metrics),
    // Beside the roller, whose sums it declares void.
    isOurs: () => supervisors[0]?.answering === true,
  });
  const endpointsAllowed = readEndpointsAllowed(config.ENDPOINTS_ALLOWED);
  const deliverer = await Deliverer.start({
    bus,
    lanes: records,
    control: await bus.keyed(CONTROL_BUCKET),
    deliveries: await bus.keyed(DELIVERIES_BUCKET),
    partitions: config.PARTITIONS,
    intervalMs: config.DELIVERY_INTERVAL_MS,
    openBucket: (integration) =>
      bucketOf(integration, {
        secretsKey: config.SECRETS_KEY,
        endpointsAllowed,
        timeoutMs: BUCKET_TIMEOUT_MS,
      }),
    store,
    clock: systemClock,
    random: Math.random,
    log,
    metrics: createDeliveryMetrics(metrics),
    crashPoint,
    isOurs: () => supervisors[0]?.answering === true,
  });
  const http = new HttpServer((error) => log.error({ err: error }, 'a request failed'));
  addOperations(http, metrics, () => {
    const answering = supervisors.filter((supervisor) => supervisor.answering).length;
    return { ready: answering === supervisors.length, shown: { partitions: supervisors.length, answering } };
  });
  const port = await http.listen('127.0.0.1', config.METRICS_PORT);
  process.stdout.write(`ready ${JSON.stringify({ metricsUrl: `http://127.0.0.1:${port}/metrics` })}\n`);
  log.info({ partitions: config.PARTITIONS, workers: workers.length }, 'processor: running');

  let draining = false;
  const drain = async () => {
    if (draining) return;
    draining = true;
    setTimeout(() => process.exit(1), DRAIN_MAX_MS).unref();
    await Promise.all([
      deliverer.stop(),
      purger.stop(),
      rollupJob.stop(),
      ...supervisors.map((supervisor) => supervisor.stop()),
    ]);
    feeds.stop();
    await Promise.all(workers.map((worker) => worker.stop()));
    http.close();
    await store.close();
    await bus.close();
    log.info('drained');
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void drain());
}

function limitsOf(config: Config): PartitionLimits {
  return {
    sessionRetainMs: config.SESSION_RETAIN_MS,
    sessionsMax: SESSIONS_MAX,
    eventIdsMax: config.EVENT_IDS_MAX,
    publishersMax: PUBLISHERS_MAX,
    minuteVisitorsMax: MINUTE_VISITORS_MAX,
    grantsMax: GRANTS_MAX,
  };
}

/** The built worker: beside this file once built, or in the build's folder when this runs from source. */
function workerFile(): string {
  const beside = fileURLToPath(new URL('./lane/worker.js', import.meta.url));
  return existsSync(beside) ? beside : join(projectRoot, 'dist/processor/lane/worker.js');
}

main().catch((error: unknown) => {
  process.stderr.write(`processor: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
