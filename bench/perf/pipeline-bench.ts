import type { ClickHouseClient } from '@clickhouse/client';
import { waitFor } from '../cluster/child-process.ts';
import { Cluster } from '../cluster/cluster.ts';
import { startCpuMeter } from '../cluster/process-cost.ts';
import { storedCounts } from '../cluster/stored.ts';
import { checksumOf, generate, type LoadResult, trackRequests } from '../traffic/generator.ts';
import { type Finding, rounded, shown } from './results.ts';

/**
 * Question: what does an event cost from the HTTP request to its rows in the store, in CPU time of all processes (HTTP,
 * bus, processor, store), and how far behind is the store? Counted from the first request until everything is stored,
 * including idle costs and merges in between; the load generator is left out. At the offered rate the batches are small
 * and the fixed costs weigh; at the full rate, which the goal is for, the machine is saturated.
 *
 * Not measured: questions (none are asked), several machines, old data that merges have to move.
 */
export interface PipelineBenchOptions {
  readonly seconds: number;
  readonly offeredPerSec: number;
  readonly connections: number;
  readonly requests: number;
  /** Arguments for the measured programs, such as `--cpu-prof`. */
  readonly nodeArguments: readonly string[];
}

interface Stretch {
  readonly load: LoadResult;
  /** From the last answer until everything was in the store. */
  readonly lagMs: number;
  /** By process. */
  readonly cpuMicrosPerEvent: Readonly<Record<string, number>>;
  readonly totalMicrosPerEvent: number;
  readonly stored: number;
}

const SEED = 20_240_502;
const GOAL_MICROS = 100;
const STORED_MAX_MS = 120_000;

export async function pipelineBench(options: PipelineBenchOptions): Promise<Finding> {
  await using cluster = await Cluster.start({
    hosts: { web: ['ingest', 'query'] },
    processors: ['processor'],
    withStore: true,
    env: { LOG_LEVEL: 'warn' },
    nodeArguments: options.nodeArguments,
  });
  await cluster.ready('web');
  const store = cluster.openStore();
  try {
    const requests = trackRequests(SEED, options.requests, cluster.credentials.clients.write);
    const { connections, seconds } = options;
    const stretch = (ratePerSec: number | undefined) =>
      measure(cluster, store, () =>
        generate({ url: cluster.url('web'), requests, connections, seconds, ratePerSec }),
      );
    await stretch(undefined);
    const offered = await stretch(options.offeredPerSec);
    const full = await stretch(undefined);
    return finding(options, offered, full, checksumOf(requests), cluster.busVersion);
  } finally {
    await store.close();
  }
}

async function measure(
  cluster: Cluster,
  store: ClickHouseClient,
  run: () => Promise<LoadResult>,
): Promise<Stretch> {
  const { projectId } = cluster.credentials;
  const before = (await storedCounts(store, projectId)).events;
  const pids = Object.fromEntries(cluster.names.map((name) => [name, cluster.process(name).pid]));
  const meter = startCpuMeter(pids);
  const load = await run();
  const endedMs = performance.now();
  let stored = 0;
  const everythingStored = async () => {
    const { events, inSessions } = await storedCounts(store, projectId);
    stored = events - before;
    return stored >= load.accepted && inSessions === events;
  };
  await waitFor('everything is stored', everythingStored, STORED_MAX_MS);
  const lagMs = performance.now() - endedMs;
  const micros = meter();
  const perEvent = Object.entries(micros).map(([name, spent]): [string, number] => [
    name,
    rounded(spent / stored),
  ]);
  const total = Object.values(micros).reduce((sum, spent) => sum + spent, 0) / stored;
  return { load, lagMs, cpuMicrosPerEvent: Object.fromEntries(perEvent), totalMicrosPerEvent: total, stored };
}

function finding(
  options: PipelineBenchOptions,
  offered: Stretch,
  full: Stretch,
  checksum: string,
  busVersion: string,
): Finding {
  const failed = offered.load.failed + full.load.failed;
  const reasons = [
    `${full.totalMicrosPerEvent.toFixed(1)} µs an event at the full rate, goal ${GOAL_MICROS}`,
  ];
  if (failed > 0) reasons.push(`${failed} requests failed`);
  return {
    name: 'pipeline',
    config: { ...shown(options), seed: SEED, requestsChecksum: checksum, busVersion },
    figures: { ...figuresOf('full', full), ...figuresOf('offered', offered) },
    verdict: failed > 0 ? 'invalid' : full.totalMicrosPerEvent <= GOAL_MICROS ? 'reached' : 'missed',
    reasons,
  };
}

function figuresOf(
  name: string,
  stretch: Stretch,
): Record<string, number | Readonly<Record<string, number>>> {
  return {
    [`${name}PerSec`]: Math.round(stretch.load.ratePerSec),
    [`${name}CpuMicrosPerEvent`]: { ...stretch.cpuMicrosPerEvent, all: rounded(stretch.totalMicrosPerEvent) },
    [`${name}LagMs`]: Math.round(stretch.lagMs),
    [`${name}P50Ms`]: stretch.load.p50Ms,
    [`${name}P99Ms`]: stretch.load.p99Ms,
    // An event whose answer came after the generator stopped counting is stored and not accepted: a few more.
    [`${name}Accepted`]: stretch.load.accepted,
    [`${name}Stored`]: stretch.stored,
  };
}
