import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Client } from '../cluster/client.ts';
import { DEFAULT_SETTINGS, ShippedService } from '../cluster/shipped-service.ts';
import { PROBE_AGENT } from './answer-probe.ts';
import { closedLoop, type OwnFigures, runOpenLoop } from './load/load.ts';
import { writePool } from './load/request-pool.ts';
import { type Finding, percentile, rounded, type TableRow } from './results.ts';
import { untilStored } from './service-cost.ts';

/**
 * Question: what does the service do with three times the events that it can take, from many senders? First it is loaded as fast
 * as it answers, by a few hundred connections, to measure its maximum rate. Then requests start at three times this rate on many
 * connections, whatever the answers do; a request is not sent if all connections are waiting. Then only a few visitors remain.
 * `npm start` itself, with default settings.
 *
 * These visitors send an event every so often in all three stretches, from their own process, and do not repeat refused events.
 * Only their times count: times at the generators would be mostly their own, since they are as busy as the service and run on the
 * same cores. For the same reason the service takes less under overload than it could, by their share. All accepted events are
 * counted in the store at the end.
 */
export interface OverloadBenchOptions {
  readonly seconds: number;
  readonly connections: number;
  readonly visitors: number;
  /** Nothing is installed for it. */
  readonly isTiny: boolean;
}

const SEED = 20_261_127;
const TIMES = 3;
/** One generator is not fast enough. */
const GENERATORS = 2;
const SUSTAINED_CONNECTIONS = 256;
const RECOVERY_SECONDS = 5;
const VISIT_EVERY_MS = 50;
const SAMPLE_EVERY_MS = 500;
const ANSWER_MAX_MS = 30_000;
const GOALS = { acceptedShare: 0.5, p99Ms: 4_000, memoryTimes: 1.5, recoveredP99Ms: 250 };

/** The visitors' results in one stretch. */
interface Visits {
  readonly acceptedMs: readonly number[];
  readonly refused: number;
  readonly failed: number;
}

interface Overload {
  readonly sustainedPerSec: number;
  readonly floods: readonly OwnFigures[];
  readonly visits: Readonly<Record<'sustained' | 'overloaded' | 'recovered', Visits>>;
  /** Resident memory of all processes before the flood, and the most until everything was stored. */
  readonly sustainedMB: number;
  readonly overloadedMB: number;
  /** From the end of the last stretch until everything was in the store. */
  readonly lagMs: number;
  readonly accepted: number;
  readonly stored: number;
}

export async function overloadBench(options: OverloadBenchOptions): Promise<Finding> {
  const folder = mkdtempSync(join(tmpdir(), 'footfall-overload-bench-'));
  try {
    return finding(options, await measure(options, folder));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measure(options: OverloadBenchOptions, folder: string): Promise<Overload> {
  const { seconds, visitors, connections, isTiny } = options;
  const generator = await closedLoop({ mayInstall: !isTiny });
  await using service = await ShippedService.start(DEFAULT_SETTINGS);
  const { url, credentials } = service;
  const poolOf = (number: number) => {
    const credential = credentials.clients.write;
    const path = join(folder, `pool-${number}`);
    return writePool({ path, seed: SEED + number, visitors, number, credential }).path;
  };
  const few = { url, connections: Math.min(connections, SUSTAINED_CONNECTIONS), seconds, seed: SEED };
  const warmUp = await generator.run({ ...few, pool: poolOf(0) });
  const pool = poolOf(1);
  const [load, sustained] = await Promise.all([generator.run({ ...few, pool }), visit(service, seconds)]);
  await untilStored(service, warmUp.accepted + load.accepted);
  const sustainedMB = service.residentMB();
  let overloadedMB = sustainedMB;
  const sampling = setInterval(() => {
    overloadedMB = Math.max(overloadedMB, service.residentMB());
  }, SAMPLE_EVERY_MS);
  const flood = (number: number) =>
    runOpenLoop({
      url,
      pool: poolOf(number),
      connections: Math.ceil(connections / GENERATORS),
      seconds,
      seed: SEED + number,
      ratePerSec: (load.perSec * TIMES) / GENERATORS,
      dropsLate: true,
    });
  const [floods, overloaded] = await Promise.all([
    Promise.all(Array.from({ length: GENERATORS }, (_, index) => flood(2 + index))),
    visit(service, seconds),
  ]);
  const recovered = await visit(service, Math.min(RECOVERY_SECONDS, seconds));
  const endMs = performance.now();
  const visits = { sustained, overloaded, recovered };
  const accepted =
    [warmUp, load, ...floods].reduce((sum, one) => sum + one.accepted, 0) +
    Object.values(visits).reduce((sum, { acceptedMs }) => sum + acceptedMs.length, 0);
  const stored = await untilStored(service, accepted);
  clearInterval(sampling);
  const lagMs = performance.now() - endMs;
  return {
    sustainedPerSec: load.perSec,
    floods,
    visits,
    sustainedMB,
    overloadedMB,
    lagMs,
    accepted,
    stored,
  };
}

/** Sends an event every so often, each of another visitor, whatever the answers do. */
async function visit({ url, credentials }: ShippedService, seconds: number): Promise<Visits> {
  const client = new Client(Number.POSITIVE_INFINITY, ANSWER_MAX_MS);
  const acceptedMs: number[] = [];
  let [refused, failed] = [0, 0];
  const send = async (index: number) => {
    const properties = { __path: 'https://shop.example/visit' };
    const body = JSON.stringify({ type: 'track', payload: { name: 'screen_view', properties } });
    const address = `84.${index >> 8}.${index & 255}.${Math.floor(Math.random() * 250)}`;
    const head = { 'service-client-ip': address, 'user-agent': PROBE_AGENT };
    const sentMs = performance.now();
    const { status } = await client.post(`${url}/track`, credentials.clients.write, head, body);
    if (status === 200) acceptedMs.push(performance.now() - sentMs);
    else if (status === 503) refused += 1;
    else failed += 1;
  };
  const startMs = performance.now();
  const sending: Promise<void>[] = [];
  for (let index = 0; index * VISIT_EVERY_MS < seconds * 1_000; index += 1) {
    await wait(Math.max(0, startMs + index * VISIT_EVERY_MS - performance.now()));
    const sent = send(index).catch(() => {
      failed += 1;
    });
    sending.push(sent);
  }
  await Promise.all(sending);
  client.close();
  return { acceptedMs, refused, failed };
}

function finding({ seconds, connections, visitors }: OverloadBenchOptions, found: Overload): Finding {
  const { sustainedPerSec, floods, visits, sustainedMB, overloadedMB, accepted, stored } = found;
  const sum = (figureOf: (one: OwnFigures) => number) =>
    floods.reduce((total, one) => total + figureOf(one), 0);
  const refused = sum((one) => one.refused);
  const failed =
    sum((one) => one.failed - one.unanswered) -
    refused +
    Object.values(visits).reduce((total, one) => total + one.failed, 0);
  const acceptedShare = rounded(sum((one) => one.accepted) / seconds / sustainedPerSec);
  const memoryTimes = rounded(overloadedMB / sustainedMB);
  const p99Ms = rounded(percentile(visits.overloaded.acceptedMs, 0.99));
  const recoveredP99Ms = rounded(percentile(visits.recovered.acceptedMs, 0.99));
  const judged = [
    [
      acceptedShare >= GOALS.acceptedShare,
      `takes ${acceptedShare} of what it can take (goal ${GOALS.acceptedShare})`,
    ],
    [p99Ms <= GOALS.p99Ms, `a visitor's accepted event p99 ${p99Ms} ms (goal ${GOALS.p99Ms})`],
    [memoryTimes <= GOALS.memoryTimes, `memory ${memoryTimes} times that before (goal ${GOALS.memoryTimes})`],
    [
      recoveredP99Ms <= GOALS.recoveredP99Ms && visits.recovered.refused === 0,
      `right after it p99 ${recoveredP99Ms} ms, ${visits.recovered.refused} refused (goal ${GOALS.recoveredP99Ms}, 0)`,
    ],
  ] as const;
  const wrong = [
    ...(stored < accepted ? [`${accepted} were accepted and ${stored} are stored`] : []),
    ...(failed > 0 ? [`${failed} requests were neither accepted nor refused`] : []),
  ];
  return {
    name: 'overload',
    config: { seconds, connections, visitors, times: TIMES, seed: SEED },
    figures: {
      sustainedPerSec: Math.round(sustainedPerSec),
      acceptedPerSec: Math.round(sum((one) => one.accepted) / seconds),
      refusedPerSec: Math.round(refused / seconds),
      notSentPerSec: Math.round(sum((one) => one.unanswered) / seconds),
      sustainedResidentMB: sustainedMB,
      overloadedResidentMB: overloadedMB,
      lagMs: Math.round(found.lagMs),
    },
    tables: {
      'what visitors see': Object.fromEntries(
        Object.entries(visits).map(([name, one]): [string, TableRow] => [name, rowOf(one)]),
      ),
    },
    verdict: wrong.length > 0 ? 'invalid' : judged.every(([isReached]) => isReached) ? 'reached' : 'missed',
    reasons: [...wrong, ...judged.map(([, text]) => text)],
  };
}

function rowOf({ acceptedMs, refused }: Visits): TableRow {
  return {
    accepted: acceptedMs.length,
    refused,
    p50Ms: rounded(percentile(acceptedMs, 0.5)),
    p99Ms: rounded(percentile(acceptedMs, 0.99)),
    maxMs: rounded(Math.max(0, ...acceptedMs)),
  };
}
