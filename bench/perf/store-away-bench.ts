import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { EVENTS_TABLE } from '../../processor/rows.ts';
import { waitFor } from '../cluster/child-process.ts';
import { Cluster } from '../cluster/cluster.ts';
import { storedCounts } from '../cluster/stored.ts';
import { audit } from '../faults/audit.ts';
import { Traffic } from '../traffic/traffic.ts';
import { type Finding, rounded } from './results.ts';

/**
 * Question: what happens when a service's store is unavailable for an hour? Events arrive continuously, under a light load; the
 * store is killed, stays down, and comes back. Every acknowledged event waits in the bus, in order, and in the end is stored
 * once, in the session of its answer. Only while the lane's memory is full, its owner cannot know every session, and collectors
 * derive ids.
 */
export interface StoreAwayOptions {
  readonly seconds: number;
}

const SEED = 20_261_127;
const PROCESSOR = 'processor';
/** Before the store goes, and after everything is stored. */
const USUAL_MS = 5_000;
const SAMPLE_EVERY_MS = 1_000;
const DRAIN_MAX_MS = 1_800_000;
const PROGRESS_EVERY = 60;
/** Some 220 events a second. */
const PACE_MS = 100;
/** A question that is on its way when memory becomes full waits for two seconds; an answer with a derived id may be as much older than its sample. */
const SAMPLE_LATE_MS = 4_000;
const DERIVED = ['ingest_sessions_found_total', 'reason="derived"'] as const;
/**
 * Memory grows until one batch waits for the store and the next one is full, some eight minutes; then it is flat, however long
 * the outage lasts, and the backlog passes through it. An event waits for at most one question, when the lane's memory becomes
 * full.
 */
const GOALS = { flatTimes: 1.2, drainTimes: 1.5, outOfOrderMs: 3_000, acceptMaxMs: 2_500 };

interface MemorySample {
  readonly atMs: number;
  readonly mb: number;
}

/** The most memory that the processor had in each part of the run, in MB. */
interface MostMB {
  readonly before: number;
  /** The halves of the time without the store. */
  readonly awayFirst: number;
  readonly awaySecond: number;
  readonly drain: number;
}

interface StoreAway {
  readonly mostMB: MostMB;
  /** Messages in the bus when the store came back. */
  readonly waiting: number;
  readonly whileAway: number;
  readonly drainMs: number;
  /** The longest time from sending an event until it was acknowledged. */
  readonly acceptMaxMs: number;
  /** The most by which an event was received before one of an earlier flush. */
  readonly outOfOrderMs: number;
  readonly books: Awaited<ReturnType<typeof audit>>;
  /** Rejected tries, by reason; the event is sent again. */
  readonly rejects: ReadonlyMap<string, number>;
  /** Events whose session a collector derived because the owner did not know. */
  readonly derived: number;
}

export async function storeAwayBench(options: StoreAwayOptions): Promise<Finding> {
  return finding(options, await measure(options));
}

async function measure({ seconds }: StoreAwayOptions): Promise<StoreAway> {
  await using cluster = await Cluster.start({
    hosts: { web: ['ingest', 'query'] },
    processors: [PROCESSOR],
    withStore: true,
    env: { QUERY_LIMIT_PER_10_S: '0' },
  });
  await cluster.ready('web');
  const traffic = new Traffic(cluster, { seed: SEED, hosts: ['web'], persistent: true, paceMs: PACE_MS });
  await wait(USUAL_MS);
  const memory: MemorySample[] = [];
  const beforeMB = residentMB(cluster);
  let derivedFromMs: number | undefined;
  const sampling = setInterval(() => {
    const sampleMs = Date.now();
    memory.push({ atMs: sampleMs, mb: residentMB(cluster) });
    if (derivedFromMs !== undefined) return;
    cluster.metric('web', ...DERIVED).then(
      (count) => {
        if (count > 0) derivedFromMs ??= sampleMs - SAMPLE_LATE_MS;
      },
      () => {}, // The next sample reports it.
    );
  }, SAMPLE_EVERY_MS);
  const awayMs = Date.now();
  await cluster.kill('store');
  const takenBefore = traffic.ledger.taken;
  for (let second = 1; second <= seconds; second += 1) {
    await wait(1_000);
    if (second % PROGRESS_EVERY === 0)
      process.stderr.write(`${second} of ${seconds} s: ${traffic.ledger.taken - takenBefore} events taken\n`);
  }
  const whileAway = traffic.ledger.taken - takenBefore;
  const waiting = await cluster.metric(PROCESSOR, 'footfall_processor_lag_messages');
  await cluster.restart('store');
  const backAtMs = Date.now();
  const store = cluster.openStore();
  const site = cluster.credentials.projectId;
  // True when all events from the outage are stored, whatever arrives meanwhile.
  const isDrained = async () => (await storedCounts(store, site)).events >= takenBefore + whileAway;
  await waitFor('what waited is in the store', () => isDrained().catch(() => false), DRAIN_MAX_MS);
  const drainMs = Date.now() - backAtMs;
  const untilMs = Date.now();
  await wait(USUAL_MS);
  const ledger = await traffic.stop();
  clearInterval(sampling);
  const outages = derivedFromMs === undefined ? [] : [{ fromMs: derivedFromMs, untilMs }];
  const derived = await cluster.metric('web', ...DERIVED);
  process.stderr.write(`${ledger.taken} events taken, ${derived} derived sessions, comparing\n`);
  const books = await audit(cluster, ledger, 'web', outages);
  const outOfOrderMs = await outOfOrder(store, site);
  await store.close();
  const accepted = ledger.acknowledged.filter(({ sentAtMs }) => sentAtMs > awayMs);
  const halfMs = (awayMs + backAtMs) / 2;
  const mostMB = {
    before: beforeMB,
    awayFirst: mostOf(memory, awayMs, halfMs),
    awaySecond: mostOf(memory, halfMs, backAtMs),
    drain: mostOf(memory, backAtMs, Number.POSITIVE_INFINITY),
  };
  return {
    ...{ mostMB, waiting, whileAway, drainMs, outOfOrderMs, books, derived },
    acceptMaxMs: accepted.reduce(
      (most, { sentAtMs, acknowledgedAtMs = sentAtMs }) => Math.max(most, acknowledgedAtMs - sentAtMs),
      0,
    ),
    rejects: ledger.rejects,
  };
}

async function outOfOrder(store: ReturnType<Cluster['openStore']>, site: string): Promise<number> {
  const answer = await store.query({
    query: `SELECT max(latestBefore - earliest) AS ms FROM (
        SELECT earliest, max(latest) OVER (ORDER BY flushNumber ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS latestBefore
        FROM (SELECT flushNumber, toUnixTimestamp64Milli(min(receivedAt)) AS earliest, toUnixTimestamp64Milli(max(receivedAt)) AS latest
              FROM ${EVENTS_TABLE} WHERE projectId = {site:String} AND eventId != '' GROUP BY flushNumber))
      WHERE latestBefore > 0`,
    query_params: { site },
    format: 'JSONEachRow',
  });
  const [row] = await answer.json<{ ms: string | number }>();
  return Math.max(0, Number(row?.ms ?? 0));
}

function mostOf(memory: readonly MemorySample[], fromMs: number, untilMs: number): number {
  const part = memory.filter(({ atMs }) => atMs >= fromMs && atMs < untilMs);
  return part.reduce((most, { mb }) => Math.max(most, mb), 0);
}

function residentMB(cluster: Cluster): number {
  const status = readFileSync(`/proc/${cluster.process(PROCESSOR).pid}/status`, 'utf8');
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1_024);
}

function finding({ seconds }: StoreAwayOptions, found: StoreAway): Finding {
  const { mostMB, drainMs, whileAway, outOfOrderMs, acceptMaxMs, books, rejects } = found;
  const rejected = [...rejects].map(([reason, count]) => `${count} ${reason}`).join(', ');
  const flatTimes = rounded(mostMB.awaySecond / mostMB.awayFirst);
  const drainTimes = rounded(mostMB.drain / mostMB.awaySecond);
  const judged = [
    [
      flatTimes <= GOALS.flatTimes,
      `memory in the second half without the store ${flatTimes} times that in the first (goal ${GOALS.flatTimes})`,
    ],
    [
      drainTimes <= GOALS.drainTimes,
      `memory ${drainTimes} times that while what waited is stored (goal ${GOALS.drainTimes})`,
    ],
    [
      outOfOrderMs <= GOALS.outOfOrderMs,
      `at most ${outOfOrderMs} ms out of order (goal ${GOALS.outOfOrderMs})`,
    ],
    [
      acceptMaxMs <= GOALS.acceptMaxMs,
      `an event waits ${acceptMaxMs} ms at most (goal ${GOALS.acceptMaxMs})`,
    ],
    [rejects.size === 0, `refused: ${rejected || 'nothing'} (goal: nothing)`],
  ] as const;
  const wrong = [
    ...books.differences,
    ...(books.stored === books.acknowledged
      ? []
      : [`${books.acknowledged} acknowledged, ${books.stored} stored`]),
  ];
  return {
    name: 'store-away',
    config: { seconds, seed: SEED },
    figures: {
      acknowledged: books.acknowledged,
      whileAway,
      waitingMessages: found.waiting,
      drainMs: Math.round(drainMs),
      drainedPerSec: Math.round(whileAway / (drainMs / 1_000)),
      acceptMaxMs,
      derivedSessions: found.derived,
      otherSessions: books.otherSessions,
      processorMBBefore: mostMB.before,
      processorMBAwayFirst: mostMB.awayFirst,
      processorMBAwaySecond: mostMB.awaySecond,
      processorMBDrain: mostMB.drain,
      outOfOrderMs,
    },
    verdict: wrong.length > 0 ? 'invalid' : judged.every(([isReached]) => isReached) ? 'reached' : 'missed',
    reasons: [...wrong, ...judged.map(([, text]) => text)],
  };
}
