import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { HOUR_MS } from '../../infra/durations.ts';
import { Client } from '../cluster/client.ts';
import { cpuMicros } from '../cluster/process-cost.ts';
import { metricOf, type ServiceSettings, ShippedService } from '../cluster/shipped-service.ts';
import { AnswerProbe, PROBE_AGENT, type ProbeFigures } from './answer-probe.ts';
import { echoProcess } from './echo.ts';
import { type LoadFigures, runOpenLoop } from './load/load.ts';
import { type RequestPool, writePool } from './load/request-pool.ts';
import { type Finding, rounded, type TableRow } from './results.ts';
import { cpuPerEvent, type EventCost, publishedEvents, untilStored, workPerEvent } from './service-cost.ts';
import { nodeVersionOf, type Variant } from './variants.ts';

/**
 * Question: what does an event cost, and how long does it take, at a rate that the machine takes easily? Requests start at
 * fixed times whatever the answers do, and latencies run from these times. The service is `npm start` itself. Two
 * stretches, each on its own service after a warm-up:
 *
 * - `steady`: page views only; CPU time of all processes over a window in the middle, while the rate is constant.
 * - `busy`: beside them, `metrics` is asked about the same site until it counts a probe, and old events make rollups
 *   run all the time. Flushes and merges run by themselves; the result says how many of each there were.
 *
 * Before them, the bare echo answers the same requests at the same rate: the cost for a machine to wake up for each
 * request, whatever the request does.
 *
 * Not measured: several machines, old data that merges have to move. The generator runs on the same cores.
 */
export interface PipelineBenchOptions {
  readonly variants: readonly [Variant, ...Variant[]];
  readonly seconds: number;
  readonly ratePerSec: number;
  readonly connections: number;
  readonly visitors: number;
  readonly profileTo: string | undefined;
  /** Both stretches run on one service, with default settings. */
  readonly isTiny: boolean;
}

const SEED = 20_240_502;
const GOALS = { cpuMicros: 150, p99Ms: 25, answerP99Ms: 500 };
const ECHO_SECONDS_MAX = 10;
const WARM_UP_SECONDS_MAX = 5;
const WARM_UP_QUESTIONS = 5;
/** Load before and after the window in which CPU time counts. */
const MARGIN_SECONDS = 1;
const PROBE_EVERY_MS = 500;
/** A late hour is rolled up again after five intervals; with this setting that is after five seconds. */
const BUSY_ENV = { ROLLUP_INTERVAL_MS: '1000' };
/** Hours are finalized three hours after their end. */
const OLD_HOURS = { first: 5, count: 24 };
const OLD_EVENTS_PER_SEC = 20;

interface Steady {
  readonly load: LoadFigures;
  readonly events: number;
  readonly cpu: EventCost;
  readonly work: EventCost;
  readonly residentMB: number;
}

interface Busy {
  readonly load: LoadFigures;
  readonly probe: ProbeFigures;
  readonly oldFailed: number;
  readonly flushes: number;
  readonly merges: number;
  readonly rollups: number;
}

interface Stretches {
  readonly steady: Steady;
  readonly busy: Busy;
  readonly busVersion: string;
  readonly checksum: string;
}

export async function pipelineBench(options: PipelineBenchOptions): Promise<Finding> {
  const folder = mkdtempSync(join(tmpdir(), 'footfall-pipeline-bench-'));
  const found = new Map<string, Stretches>();
  let echoMicros = 0;
  try {
    echoMicros = await measureEcho(options, folder);
    for (const { name, settings } of options.variants)
      found.set(name === '' ? 'default' : name, await measure(options, settings, folder));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return finding(options, found, echoMicros);
}

/** CPU microseconds of the echo for each request at the rate. */
async function measureEcho(
  { visitors, ratePerSec, connections, seconds }: PipelineBenchOptions,
  folder: string,
): Promise<number> {
  const path = join(folder, 'pool-echo');
  const pool = writePool({
    path,
    seed: SEED,
    visitors,
    number: 0,
    credential: { id: 'echo', secret: 'echo' },
  });
  mkdirSync(join(folder, 'logs'));
  const echo = echoProcess(folder);
  try {
    const { url } = JSON.parse(await echo.start()) as { url: string };
    const before = cpuMicros(echo.pid);
    const lasts = Math.min(ECHO_SECONDS_MAX, seconds);
    const load = await runOpenLoop({
      url,
      pool: pool.path,
      connections,
      seconds: lasts,
      seed: SEED,
      ratePerSec,
    });
    return (cpuMicros(echo.pid) - before) / load.accepted;
  } finally {
    await echo.kill();
  }
}

async function measure(
  options: PipelineBenchOptions,
  settings: ServiceSettings,
  folder: string,
): Promise<Stretches> {
  let facts: Omit<Stretches, 'busy'>;
  {
    await using service = await ShippedService.start(settings, options.profileTo);
    const pool = await warmedUp(options, service, folder);
    const steady = await measureSteady(options, service, pool);
    facts = { steady, busVersion: service.busVersion, checksum: pool.checksum };
    if (options.isTiny) return { ...facts, busy: await measureBusy(options, service, pool) };
  }
  const env = { ...settings.env, ...BUSY_ENV };
  await using service = await ShippedService.start({ ...settings, env }, options.profileTo);
  const pool = await warmedUp(options, service, folder);
  return { ...facts, busy: await measureBusy(options, service, pool) };
}

/** Loads the service with other visitors; returns the pool for the measured stretch. */
async function warmedUp(
  { visitors, ratePerSec, connections, seconds }: PipelineBenchOptions,
  service: ShippedService,
  folder: string,
): Promise<RequestPool> {
  const credential = service.credentials.clients.write;
  const [warmUp, pool] = [1, 0].map((number) =>
    writePool({ path: join(folder, `pool-${number}`), seed: SEED + number, visitors, number, credential }),
  );
  if (warmUp === undefined || pool === undefined) throw new Error('no pools');
  const url = service.url;
  const lasts = Math.min(WARM_UP_SECONDS_MAX, seconds);
  await runOpenLoop({ url, pool: warmUp.path, connections, seconds: lasts, seed: SEED, ratePerSec });
  await untilStored(service);
  return pool;
}

async function measureSteady(
  { seconds, ratePerSec, connections }: PipelineBenchOptions,
  service: ShippedService,
  pool: RequestPool,
): Promise<Steady> {
  const idleEvents = await publishedEvents(service);
  const loading = runOpenLoop({
    url: service.url,
    pool: pool.path,
    connections,
    seconds: seconds + 2 * MARGIN_SECONDS,
    seed: SEED,
    ratePerSec,
  });
  while ((await publishedEvents(service)) === idleEvents) await wait(20);
  await wait(MARGIN_SECONDS * 1_000);
  const before = await service.totals();
  const [eventsBefore, cpuBefore] = [await publishedEvents(service), service.cpuMicros()];
  await wait(seconds * 1_000);
  const [eventsAfter, cpuAfter] = [await publishedEvents(service), service.cpuMicros()];
  const after = await service.totals();
  const events = eventsAfter - eventsBefore;
  const load = await loading;
  await untilStored(service, idleEvents + load.accepted);
  return {
    load,
    events,
    cpu: cpuPerEvent(cpuBefore, cpuAfter, events),
    work: workPerEvent(before, after, events),
    residentMB: service.residentMB(),
  };
}

async function measureBusy(
  { seconds, ratePerSec, connections }: PipelineBenchOptions,
  service: ShippedService,
  pool: RequestPool,
): Promise<Busy> {
  await warmUpQuestions(service);
  const before = await service.totals();
  const { url, credentials } = service;
  const [load, probe, oldFailed] = await Promise.all([
    runOpenLoop({ url, pool: pool.path, connections, seconds, seed: SEED, ratePerSec }),
    new AnswerProbe({ url, credentials, everyMs: PROBE_EVERY_MS, seconds }).run(),
    sendOldEvents(service, seconds),
  ]);
  const after = await service.totals();
  const grown = (name: string) =>
    (metricOf(after.metrics, name) ?? 0) - (metricOf(before.metrics, name) ?? 0);
  return {
    load,
    probe,
    oldFailed,
    flushes: grown('footfall_processor_flushes_total'),
    merges: after.storeMerges - before.storeMerges,
    rollups:
      grown('footfall_processor_rollup_hours_total') +
      grown('footfall_processor_rollup_late_hours_total') +
      grown('footfall_processor_rollup_days_total') +
      grown('footfall_processor_rollup_late_days_total'),
  };
}

/** The first questions after a start take longer than all others. */
async function warmUpQuestions({ url, credentials: { projectId, clients } }: ShippedService): Promise<void> {
  const client = new Client(1);
  for (let count = 0; count < WARM_UP_QUESTIONS; count += 1)
    await client.get(`${url}/insights/${projectId}/metrics?range=today`, clients.read);
  client.close();
}

/** Sends a batch of events of another finalized hour every second; returns how many batches were not accepted. */
async function sendOldEvents({ url, credentials }: ShippedService, seconds: number): Promise<number> {
  const client = new Client(1);
  let failed = 0;
  for (let second = 0; second < seconds; second += 1) {
    const atMs = Date.now() - (OLD_HOURS.first + (second % OLD_HOURS.count)) * HOUR_MS;
    const properties = { __path: 'https://shop.example/old', __timestamp: new Date(atMs).toISOString() };
    const event = { type: 'track', payload: { name: 'screen_view', properties } };
    const body = JSON.stringify(Array.from({ length: OLD_EVENTS_PER_SEC }, () => event));
    const visitor = { 'service-client-ip': `83.0.0.${second % 250}`, 'user-agent': PROBE_AGENT };
    const sent = client.post(`${url}/track/batch`, credentials.clients.write, visitor, body);
    const isAccepted = await sent.then(({ status }) => status < 300).catch(() => false);
    if (!isAccepted) failed += 1;
    await wait(1_000);
  }
  client.close();
  return failed;
}

function finding(
  { variants, seconds, ratePerSec, connections, visitors }: PipelineBenchOptions,
  found: ReadonlyMap<string, Stretches>,
  echoMicros: number,
): Finding {
  const all = [...found];
  const judged = all.slice(0, 1).flatMap(([, { steady, busy }]) => judge(steady, busy));
  const failed = all.reduce(
    (sum, [, { steady, busy }]) =>
      sum + steady.load.failed + busy.load.failed + busy.probe.failed + busy.oldFailed,
    0,
  );
  const reasons = judged.map(({ text }) => text);
  if (failed > 0) reasons.push(`${failed} requests failed`);
  for (const [name, { busy }] of all)
    if (busy.probe.failure !== '') reasons.push(`${name}: a probe or question: ${busy.probe.failure}`);
  for (const [name, { busy }] of all)
    if (busy.flushes === 0 || busy.merges === 0 || busy.rollups === 0)
      reasons.push(`${name}: not everything ran beside the load: take more --seconds`);
  const tableOf = (rowOf: (stretches: Stretches) => TableRow) =>
    Object.fromEntries(all.map(([name, stretches]) => [name, rowOf(stretches)]));
  const [{ name: settings }] = variants;
  return {
    name: 'pipeline',
    config: {
      seconds,
      ratePerSec,
      connections,
      visitors,
      seed: SEED,
      settings,
      serviceNode: nodeVersionOf(variants[0]),
      requestsChecksum: all[0]?.[1].checksum ?? '',
      busVersion: all[0]?.[1].busVersion ?? '',
    },
    figures: { echoMicros: rounded(echoMicros) },
    tables: {
      'steady: load': tableOf(({ steady }) => ({ ...loadRowOf(steady.load), residentMB: steady.residentMB })),
      'steady: cpu µs an event': tableOf(({ steady }) => steady.cpu),
      'steady: an event takes': tableOf(({ steady }) => steady.work),
      'busy: load': tableOf(({ busy }) => loadRowOf(busy.load)),
      'busy: until metrics count it': tableOf(({ busy }) => ({
        p50Ms: busy.probe.p50Ms,
        p99Ms: busy.probe.p99Ms,
        maxMs: busy.probe.maxMs,
        probes: busy.probe.probes,
        questions: busy.probe.questions,
      })),
      'busy: meanwhile': tableOf(({ busy: { flushes, merges, rollups } }) => ({ flushes, merges, rollups })),
    },
    verdict: failed > 0 ? 'invalid' : judged.every(({ isReached }) => isReached) ? 'reached' : 'missed',
    reasons,
  };
}

function loadRowOf({ perSec, p50Ms, p99Ms, maxMs, accepted, generatorCpuMicros }: LoadFigures): TableRow {
  const generatorMicros = rounded(generatorCpuMicros / accepted);
  return {
    perSec: Math.round(perSec),
    p50Ms: rounded(p50Ms),
    p99Ms: rounded(p99Ms),
    maxMs: rounded(maxMs),
    generatorMicros,
  };
}

function judge(
  { cpu: { all = 0 } }: Steady,
  { load, probe }: Busy,
): readonly { readonly isReached: boolean; readonly text: string }[] {
  const { cpuMicros, p99Ms, answerP99Ms } = GOALS;
  return [
    { isReached: all <= cpuMicros, text: `${all} µs an event (goal ${cpuMicros})` },
    { isReached: load.p99Ms <= p99Ms, text: `accepted p99 ${rounded(load.p99Ms)} ms (goal ${p99Ms})` },
    {
      isReached: probe.p99Ms <= answerP99Ms,
      text: `in the answer of metrics: p99 ${probe.p99Ms} ms (goal ${answerP99Ms})`,
    },
  ];
}
