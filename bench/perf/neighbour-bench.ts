import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { CONTROL_BUCKET, clientKeyOf, clientSchema, encodeRecord } from '../../infra/accounts/accounts.ts';
import { must } from '../../infra/assert.ts';
import { Bus } from '../../infra/bus/bus.ts';
import { createLogger } from '../../infra/log.ts';
import { Store } from '../../infra/store/store.ts';
import { Client, type Credential, rejectOf } from '../cluster/client.ts';
import { Cluster, DATABASE, type Groundwork } from '../cluster/cluster.ts';
import { addTeams } from '../cluster/teams.ts';
import { SESSION_RETAIN_MS } from '../traffic/made-visits.ts';
import type { Attack, AttackTarget } from './attacks/attack.ts';
import { ATTACKS, BUSY_CORE } from './attacks/attacks.ts';
import { type AttackStatuses, attackFrom } from './attacks/run-attack.ts';
import { longFilters, NEIGHBOUR } from './neighbour.ts';
import { clientIds, loadSite } from './query-site.ts';
import { type Finding, percentile, rounded, type TableRow } from './results.ts';

/**
 * Question: how long does a neighbour wait while one tenant, or a thousand strangers, do the worst allowed? Four requests
 * of another team's site are timed: an event, the live number, figures from memory, and a question that the store has to answer.
 * First without anything else, then beside each attack of `attacks/attacks.ts`, run in its own process; between two attacks the
 * service rests.
 *
 * The attackers use the same cores as the service, at the lowest priority. The first round measures the cost of this sharing,
 * with an attacker that only computes; all others are compared with it. Compare ratios of one run only. Not measured: the
 * attackers' answers, except for their statuses, and the network.
 */
export interface NeighbourBenchOptions {
  /** Length of each attack. */
  readonly seconds: number;
  /** Events of the attacked site. */
  readonly events: number;
  /** Few connections for each attack. */
  readonly isTiny: boolean;
  /** Names of attacks; all when empty. */
  readonly only?: readonly string[];
}

const HOST = 'web';
const SEED = 20_261_128;
const READERS = 40;
const MANY_SITES = ['many-1', 'many-2', 'many-3', 'many-4', 'many-5'];
/** Few enough events that memory holds the rows of the neighbour's site (`query/held-rows`). */
const NEIGHBOUR_DAYS = 10;
const PAUSE_MS = 50;
const QUESTIONS_PER_10_S = 2_000;
const REST_MS = 3_000;
const ANSWER_MAX_MS = 60_000;
const TINY_IN_FLIGHT_MAX = 8;
const GOALS = {
  /** Maximum ratio of the 99th percentile beside an attack to the one without, for errands that need no statement. */
  ratioMax: 2,
  /** Shorter times count as this, because below it the scheduler of the machine decides the ratio. */
  floorMs: 25,
  /** Half of the questions to the store, beside 40 askers. */
  storeP50Ms: 3_000,
};

/** The neighbour's errands, run one after the other with a pause. */
interface Errand {
  readonly name: string;
  /** True if the store has to run statements for it. */
  readonly needsStore: boolean;
  readonly once: () => Promise<string | undefined>;
}

/** Waiting times of a neighbour for one kind of errand; `refused` were not answered with 200. */
interface Waits {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly refused: number;
  readonly asked: number;
}

type AllWaits = Readonly<Record<string, Waits>>;

interface Round {
  readonly attack: string;
  readonly waits: AllWaits;
  readonly statuses: AttackStatuses;
}

export async function neighbourBench(options: NeighbourBenchOptions): Promise<Finding> {
  const folder = mkdtempSync(join(tmpdir(), 'footfall-neighbour-bench-'));
  const ground: { neighbour?: { readonly root: Credential; readonly write: Credential } } = {};
  try {
    await using cluster = await Cluster.start({
      hosts: { [HOST]: ['ingest', 'query'] },
      processors: ['processor'],
      withStore: true,
      env: {
        LOG_LEVEL: 'warn',
        SESSION_RETAIN_MS: String(SESSION_RETAIN_MS),
        TRUSTED_PROXIES: '127.0.0.1',
        // Percentiles need more questions than a client may ask by default. The attackers may ask as many.
        QUERY_LIMIT_PER_10_S: String(QUESTIONS_PER_10_S),
      },
      prepare: async (groundwork) => {
        const plan = { seed: SEED, events: options.events, clients: READERS };
        await loadSite(groundwork, plan, (line) => process.stdout.write(`${line}\n`));
        ground.neighbour = await addTeamOfNeighbour(groundwork);
      },
    });
    await cluster.ready(HOST);
    const { root, write } = must(ground.neighbour, 'the neighbour was not added');
    const errands = errandsOf(cluster.url(HOST), { root, write });
    const { projectId, clients } = cluster.credentials;
    const target: AttackTarget = {
      url: cluster.url(HOST),
      sites: [projectId, ...MANY_SITES],
      clients,
      readers: clientIds(READERS),
    };
    // The first questions fill caches.
    await waitsOf(errands, after(options.seconds / 2));
    const quiet = await waitsOf(errands, after(options.seconds));
    const rounds: Round[] = [];
    for (const { name, aim } of attacksOf(options.only ?? [])) {
      process.stdout.write(`${name}: ${aim}\n`);
      let isOver = false;
      const attacking = attackFrom(folder, {
        attack: name,
        target,
        seconds: options.seconds,
        ...(options.isTiny ? { inFlightMax: TINY_IN_FLIGHT_MAX } : {}),
      }).finally(() => {
        isOver = true;
      });
      const [statuses, waits] = await Promise.all([attacking, waitsOf(errands, () => isOver)]);
      rounds.push({ attack: name, waits, statuses });
      if (!options.isTiny) await wait(REST_MS);
    }
    return finding(options, errands, quiet, rounds);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function attacksOf(only: readonly string[]): readonly Attack[] {
  if (only.length === 0) return ATTACKS;
  return ATTACKS.filter(({ name }) => name === BUSY_CORE || only.includes(name));
}

/** A team with a site that has the newest days of the attacked one, and sites for the attacking team. */
async function addTeamOfNeighbour(
  ground: Groundwork,
): Promise<{ readonly root: Credential; readonly write: Credential }> {
  const { teamId, projectId, clients } = ground.credentials;
  const roots = await addTeams(ground, { [teamId]: MANY_SITES, neighbours: [NEIGHBOUR] });
  const store = new Store({ url: ground.storeUrl, database: DATABASE, requestTimeoutMs: 300_000 });
  for (const [table, time] of [
    ['events', 'createdAt'],
    ['sessions', 'startedAt'],
  ])
    await store.command(
      `INSERT INTO ${table} SELECT * REPLACE ({copy:String} AS projectId) FROM (
         SELECT * FROM ${table} WHERE projectId = {site:String} AND ${time} > now() - INTERVAL {days:UInt16} DAY)`,
      { copy: NEIGHBOUR, site: projectId, days: NEIGHBOUR_DAYS },
    );
  await store.close();
  const bus = await Bus.connect({ url: ground.busUrl, name: 'bench' }, createLogger('bench', 'silent'));
  const bucket = await bus.keyed(CONTROL_BUCKET);
  const { bytes } = must(await bucket.get(clientKeyOf(clients.write.id)), 'no record of the write client');
  const record: unknown = JSON.parse(Buffer.from(must(bytes, 'it was removed')).toString('utf8'));
  const id = randomUUID();
  const own = { id, projectId: NEIGHBOUR, storedId: NEIGHBOUR, teamId: 'neighbours' };
  await bucket.put(clientKeyOf(id), encodeRecord({ ...clientSchema.parse(record), ...own }), 0);
  await bus.close();
  return {
    root: must(roots.get('neighbours'), 'no root client of the neighbour'),
    write: { id, secret: clients.write.secret },
  };
}

function errandsOf(
  url: string,
  { root, write }: { readonly root: Credential; readonly write: Credential },
): readonly Errand[] {
  const client = new Client(4, ANSWER_MAX_MS);
  let number = 0;
  const get = async (path: string) => {
    const answer = await client.get(`${url}/insights/${NEIGHBOUR}/${path}`, root);
    return answer.status === 200 ? undefined : rejectOf(answer);
  };
  const event = { type: 'track', payload: { name: 'screen_view', properties: { __path: '/' } } };
  return [
    {
      name: 'event',
      needsStore: false,
      once: async () => {
        number += 1;
        const headers = {
          'service-client-ip': `192.0.2.${number % 250}`,
          'user-agent': 'Mozilla/5.0 Firefox/127.0',
        };
        const answer = await client.post(`${url}/track`, write, headers, JSON.stringify(event));
        return answer.status === 200 ? undefined : rejectOf(answer);
      },
    },
    { name: 'live', needsStore: false, once: () => get('live') },
    { name: 'small question', needsStore: false, once: () => get('metrics?range=lastHour') },
    {
      name: 'store question',
      needsStore: true,
      once: () => {
        number += 1;
        const filters = longFilters(1_000_000 + number);
        return get(`metrics?${new URLSearchParams({ range: '30d', filters })}`);
      },
    },
  ];
}

/** True once this number of seconds has passed. */
function after(seconds: number): () => boolean {
  const endMs = performance.now() + seconds * 1_000;
  return () => performance.now() >= endMs;
}

/** Every errand until it is over, each in its own loop, and at least once. */
async function waitsOf(errands: readonly Errand[], isOver: () => boolean): Promise<AllWaits> {
  const entries = errands.map(async ({ name, once }): Promise<[string, Waits]> => {
    const times: number[] = [];
    let refused = 0;
    do {
      const startedMs = performance.now();
      const problem = await once().catch(String);
      times.push(performance.now() - startedMs);
      if (problem !== undefined) refused += 1;
      await wait(PAUSE_MS);
    } while (!isOver());
    const [p50Ms, p99Ms] = [percentile(times, 0.5), percentile(times, 0.99)].map(rounded);
    return [name, { p50Ms: p50Ms ?? 0, p99Ms: p99Ms ?? 0, refused, asked: times.length }];
  });
  return Object.fromEntries(await Promise.all(entries));
}

function finding(
  { seconds, events, isTiny }: NeighbourBenchOptions,
  errands: readonly Errand[],
  quiet: AllWaits,
  rounds: readonly Round[],
): Finding {
  const reasons: string[] = [];
  const tables: Record<string, Record<string, TableRow>> = {};
  const nothing: Waits = { p50Ms: 0, p99Ms: 0, refused: 0, asked: 0 };
  let isValid = true;
  for (const { name, needsStore } of errands) {
    const alone = quiet[name] ?? nothing;
    if (alone.refused > 0) isValid = false;
    const rows: Record<string, TableRow> = { quiet: { ...alone } };
    const busy = rounds.find(({ attack }) => attack === BUSY_CORE)?.waits[name] ?? nothing;
    const baselineMs = Math.max(alone.p99Ms, busy.p99Ms);
    for (const { attack, waits } of rounds) {
      const beside = waits[name] ?? nothing;
      const counted = (ms: number) => Math.max(ms, GOALS.floorMs);
      const ratio = rounded(counted(beside.p99Ms) / counted(baselineMs));
      rows[attack] = { ...beside, ratio };
      if (!needsStore && ratio > GOALS.ratioMax)
        reasons.push(`${name} beside ${attack}: p99 ${beside.p99Ms} ms, ${ratio} times as long`);
      if (needsStore && beside.p50Ms > GOALS.storeP50Ms)
        reasons.push(`${name} beside ${attack}: p50 ${beside.p50Ms} ms`);
      if (beside.refused > 0) reasons.push(`${name} beside ${attack}: ${beside.refused} were refused`);
    }
    tables[name] = rows;
  }
  tables['answers to the attacker'] = Object.fromEntries(
    rounds.map(({ attack, statuses }) => [attack, statuses]),
  );
  if (!isValid) reasons.push('the neighbour was refused while nothing else ran');
  return {
    name: 'neighbour',
    config: { seconds, events, isTiny },
    figures: {},
    tables,
    verdict: isValid ? (reasons.length === 0 ? 'reached' : 'missed') : 'invalid',
    reasons,
  };
}
