import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { workersFor } from '../../infra/process-counts.ts';
import { ShippedService } from '../cluster/shipped-service.ts';
import { closedLoop } from './load/load.ts';
import { writePool } from './load/request-pool.ts';
import type { Finding, TableRow } from './results.ts';
import { untilStored } from './service-cost.ts';
import type { Variant } from './variants.ts';

/**
 * Question: does each process of the service keep the memory that `infra/launch/README.md` says it may take, while new
 * visitors come as fast as they are taken? Nearly every request is the first of its visitor, with an address and an agent of its
 * own, and an id: the service's memory of visitors grows with each. The service is `npm start` itself.
 *
 * Not measured: questions, several collectors, a store with old data. Files that several processes share count in each.
 */
export interface MemoryBenchOptions {
  readonly variants: readonly Variant[];
  /** Number of pools of visitors that are sent, each for `seconds`. */
  readonly pools: number;
  readonly visitorsPerPool: number;
  readonly seconds: number;
  readonly connections: number;
  /** After the start and after the flood, before the service counts as idle. */
  readonly idleSeconds: number;
}

const SEED = 20_240_504;
const SAMPLE_MS = 500;
/** Memory of a Node for its program's file. */
const NODE_MB = 50;

/** Megabytes by process, as `infra/launch/README.md` states them. */
function ceilings({ isSmall, workers }: { readonly isSmall: boolean; readonly workers: number }): TableRow {
  const launcher = 15 + NODE_MB;
  return isSmall
    ? { bus: 60, store: 510, processor: 290, http: 206, launcher }
    : { bus: 100, store: 4_900, processor: NODE_MB + (1 + workers) * 4_150 + 1_200, http: 1_120, launcher };
}

interface FloodFigures {
  readonly table: Readonly<Record<string, TableRow>>;
  readonly visitors: number;
  readonly perSec: number;
  readonly failed: number;
  readonly broken: readonly string[];
}

export async function memoryBench(options: MemoryBenchOptions): Promise<Finding> {
  const folder = mkdtempSync(join(tmpdir(), 'footfall-memory-bench-'));
  const found = new Map<string, FloodFigures>();
  const loop = await closedLoop({ mayInstall: false });
  try {
    for (const variant of options.variants)
      found.set(
        variant.name === '' ? 'default' : variant.name,
        await measure(options, variant, folder, loop),
      );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const { pools, visitorsPerPool, seconds, connections, idleSeconds } = options;
  const all = [...found];
  return {
    name: 'memory',
    config: { pools, visitorsPerPool, seconds, connections, idleSeconds, seed: SEED, load: loop.name },
    figures: {},
    tables: {
      ...Object.fromEntries(all.map(([name, { table }]) => [`${name}: resident MB`, table])),
      flood: Object.fromEntries(
        all.map(([name, { visitors, perSec, failed }]) => [name, { visitors, perSec, rejected: failed }]),
      ),
    },
    verdict: all.some(([, { visitors }]) => visitors === 0)
      ? 'invalid'
      : all.every(([, { broken }]) => broken.length === 0)
        ? 'reached'
        : 'missed',
    reasons: all.flatMap(([name, { broken, visitors }]) =>
      visitors === 0
        ? [`${name}: no visitor was stored`]
        : broken.length === 0
          ? [`${name}: every process is below its ceiling`]
          : broken.map((text) => `${name}: ${text}`),
    ),
  };
}

async function measure(
  { pools, visitorsPerPool, seconds, connections, idleSeconds }: MemoryBenchOptions,
  { settings }: Variant,
  folder: string,
  loop: Awaited<ReturnType<typeof closedLoop>>,
): Promise<FloodFigures> {
  await using service = await ShippedService.start(settings);
  await wait(idleSeconds * 1_000);
  const idle = service.residentMBByPart();
  const peak = { ...idle };
  const sampler = setInterval(() => raise(peak, service.residentMBByPart()), SAMPLE_MS);
  const credential = service.credentials.clients.write;
  let accepted = 0;
  let failed = 0;
  let took = 0;
  try {
    for (let number = 0; number < pools; number += 1) {
      const path = join(folder, 'pool');
      writePool({ path, seed: SEED + number, visitors: visitorsPerPool, number, credential, views: 1 });
      const load = await loop.run({ url: service.url, pool: path, connections, seconds, seed: SEED });
      accepted += load.accepted;
      failed += load.failed;
      took += load.seconds;
    }
    await untilStored(service, accepted);
    const visitors = await service.sessions();
    await wait(idleSeconds * 1_000);
    raise(peak, service.residentMBByPart());
    const after = service.residentMBByPart();
    const isSmall = settings.env.SMALL === '1';
    const stated = ceilings({ isSmall, workers: isSmall ? 1 : workersFor(availableParallelism()) });
    const parts = Object.keys(idle);
    return {
      table: Object.fromEntries(
        parts.map((part) => [
          part,
          {
            idle: idle[part] ?? 0,
            peak: peak[part] ?? 0,
            after: after[part] ?? 0,
            ...(stated[part] === undefined ? {} : { ceiling: stated[part] }),
          },
        ]),
      ),
      visitors,
      perSec: Math.round(accepted / took),
      failed,
      broken: parts
        .filter((part) => (peak[part] ?? 0) > (stated[part] ?? Number.POSITIVE_INFINITY))
        .map((part) => `${part} took ${peak[part]} MB, more than the ${stated[part]} that are stated`),
    };
  } finally {
    clearInterval(sampler);
  }
}

/** Raises each figure to the one that was measured now. */
function raise(peak: Record<string, number>, now: Readonly<Record<string, number>>): void {
  for (const [part, megabytes] of Object.entries(now)) peak[part] = Math.max(peak[part] ?? 0, megabytes);
}
