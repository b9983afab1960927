import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  CONTROL_BUCKET,
  encodeRecord,
  type Site,
  siteKeyOf,
  siteSchema,
  teamKeyOf,
} from '../../infra/accounts/accounts.ts';
import { assert, must } from '../../infra/assert.ts';
import { Bus } from '../../infra/bus/bus.ts';
import { readConfig } from '../../infra/config.ts';
import { createLogger } from '../../infra/log.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { projectChange } from '../../query/manage/project-api.ts';
import { RECORD_BYTES_MAX, TEAM_BYTES_MAX } from '../../query/manage/team-bytes.ts';
import { waitFor } from '../cluster/child-process.ts';
import { Client } from '../cluster/client.ts';
import { Cluster, type Groundwork } from '../cluster/cluster.ts';
import { ownResidentBytes } from '../cluster/process-cost.ts';

// The settings of twenty teams at their limits: 320 MiB, mirrored by every process. Processes have the heap sizes of `npm start`.
// A server sending everything without flow control would close the connections that lag, and a process that receives it all again
// after reconnecting would never catch up.

const WEB = 'web';
const OTHER = 'other';
const OWNER = 'first';
const STANDBY = 'second';
const NODES = [WEB, OTHER, OWNER, STANDBY];
const TEAMS = 20;
const SITES_OF_TEAM = TEAM_BYTES_MAX / RECORD_BYTES_MAX;
const RECORDS = TEAMS * SITES_OF_TEAM;
/** A process reads each record once for its accounts. It reads its name again for the sweeper, or all of it for definitions and people. */
const READS = 2;
/** Messages of mirrors that have to do with other records: lanes, clients and their uses. */
const FEW = 200;
const READY_MAX_MS = 60_000;
const PACE_MS = 20;
/** The records are 320 MiB. */
const BUS_BYTES_MAX = 1_073_741_824;
const PROCESS_BYTES_MAX = 1_610_612_736;

let cluster: Cluster;

beforeAll(async () => {
  const { HTTP_HEAP_MAX_MB, PROCESSOR_HEAP_MAX_MB } = readConfig({});
  const heap = (maxMb: number) => ({ NODE_OPTIONS: `--max-old-space-size=${maxMb}` });
  const [http, processor] = [heap(HTTP_HEAP_MAX_MB), heap(PROCESSOR_HEAP_MAX_MB)];
  cluster = await Cluster.start({
    hosts: { [WEB]: ['ingest', 'query'], [OTHER]: ['ingest', 'query'] },
    processors: [OWNER, STANDBY],
    withStore: true,
    env: {
      LOG_LEVEL: 'warn',
      WORKERS: '1',
      FLUSH_INTERVAL_MS: '500',
      QUERY_LIMIT_PER_10_S: '0',
      // A lane that moves waits for a core here.
      LANE_WAIT_MAX_MS: '10000',
    },
    envOf: { [WEB]: http, [OTHER]: http, [OWNER]: processor, [STANDBY]: processor },
    prepare: fill,
  });
}, 180_000);
afterAll(() => cluster?.[Symbol.asyncDispose]());

/**
 * Stores the records as the service does, and not through its API: 1,280 sites would take two requests each, of 256 KiB, and most of
 * the test's time.
 */
async function fill({ busUrl, credentials }: Groundwork): Promise<void> {
  const bus = await Bus.connect({ url: busUrl, name: 'fill' }, createLogger('fill', 'silent'));
  const bucket = await bus.keyed(CONTROL_BUCKET);
  const stored = must(await bucket.get(siteKeyOf(credentials.projectId)), 'the first site');
  const first = siteSchema.parse(JSON.parse(Buffer.from(stored.bytes ?? []).toString('utf8')));
  const teams = Array.from({ length: TEAMS }, (_, team) => teamOf(team));
  for (const id of teams) {
    const { createdAt } = first;
    await bucket.put(teamKeyOf(id), encodeRecord({ id, name: id, createdAt }), 0);
  }
  // Ids of one length, so the lists of one site fill the record of each.
  const site = largestSite({ ...first, ...idsOf(0, 0) });
  for (let place = 0; place < SITES_OF_TEAM; place += 1)
    await Promise.all(
      teams.map((_, team) => {
        const record = encodeRecord({ ...site, ...idsOf(team, place) });
        assert(record.byteLength === RECORD_BYTES_MAX, 'the record is as large as one may be');
        return bucket.put(siteKeyOf(idsOf(team, place).id), record, 0);
      }),
    );
  await bus.close();
}

const teamOf = (team: number) => `team-${String(team).padStart(2, '0')}`;

function idsOf(team: number, place: number): Pick<Site, 'id' | 'storedId' | 'teamId'> {
  const id = `${teamOf(team)}-${String(place).padStart(2, '0')}`;
  return { id, storedId: storedId(id), teamId: teamOf(team) };
}

/** A site whose record has as many bytes as one may have, with lists that the API accepts. */
function largestSite(site: Site): Site {
  const full = (count: number, length: number) =>
    Array.from({ length: count }, (_, index) => `/${index}/`.padEnd(length, 'x'));
  const filters = { addresses: [], profileIds: full(327, 200), names: full(819, 80), paths: full(128, 512) };
  const room = RECORD_BYTES_MAX - encodeRecord({ ...site, filters, cors: [] }).byteLength;
  // Each entry takes three characters more, but the last one has no comma.
  const cors = Array.from({ length: Math.floor(room / 128) }, () => 'x'.repeat(125));
  cors[0] = 'x'.repeat(125 + (room % 128) + 1);
  assert(projectChange.safeParse({ filters, cors }).success, 'the API accepts the lists');
  return { ...site, filters, cors };
}

const received = (name: string) => cluster.metric(name, 'footfall_bus_mirror_messages_total');
const losses = (name: string) => cluster.metric(name, 'footfall_bus_mirror_losses_total');

async function isReady(name: string): Promise<boolean> {
  const answer = await fetch(`${cluster.operationsUrl(name)}/healthz/ready`).catch(() => undefined);
  return answer?.status === 200;
}

async function untilReady(name: string): Promise<void> {
  await waitFor(`${name} is ready`, () => isReady(name), READY_MAX_MS);
}

/** Sends events and questions to one host, until the returned function is called, which returns their statuses. */
function startUsing(): () => Promise<{ readonly events: number[]; readonly questions: number[] }> {
  const client = new Client(1);
  const { projectId, clients } = cluster.credentials;
  const body = JSON.stringify({ type: 'track', payload: { name: 'alive' } });
  const events: number[] = [];
  const questions: number[] = [];
  let isOver = false;
  const using = (async () => {
    while (!isOver) {
      events.push((await client.post(`${cluster.url(OTHER)}/track`, clients.write, {}, body)).status);
      const question = `${cluster.url(OTHER)}/insights/${projectId}/metrics?range=today`;
      questions.push((await client.get(question, clients.read)).status);
      notePeaks();
      await pause(PACE_MS);
    }
  })();
  using.catch(() => {}); // The stop function reports the failure.
  return async () => {
    isOver = true;
    await using;
    client.close();
    return { events, questions };
  };
}

/** The most resident memory that was seen, by process. */
const peaks = new Map<string, number>();

function notePeaks(): void {
  for (const name of ['bus', ...NODES])
    peaks.set(name, Math.max(peaks.get(name) ?? 0, ownResidentBytes(cluster.process(name).pid)));
}

function expectBoundedMemory(): void {
  for (const [name, bytes] of peaks)
    expect(bytes, name).toBeLessThan(name === 'bus' ? BUS_BYTES_MAX : PROCESS_BYTES_MAX);
}

/** The server's log lines about connections that it closed because too much data waited for them. */
function slowConsumers(): string[] {
  const lines = cluster.process('bus').log().split('\n');
  return lines.filter((line) => line.includes('Slow Consumer'));
}

async function storedEvents(): Promise<number> {
  const store = cluster.openStore();
  try {
    const query = "SELECT count() AS rows FROM events WHERE name = 'alive'";
    const [found] = await (await store.query({ query, format: 'JSONEachRow' })).json<{ rows: string }>();
    return Number(found?.rows);
  } finally {
    await store.close();
  }
}

test('processes restart beside a full bucket while the others take events and answer questions', async () => {
  for (const name of NODES) await untilReady(name);
  const before = new Map<string, number>();
  for (const name of NODES) before.set(name, await received(name));
  const stop = startUsing();
  for (const name of [WEB, OWNER]) {
    await cluster.restart(name);
    await untilReady(name);
    expect(await received(name)).toBeGreaterThanOrEqual(RECORDS);
  }
  const hasMoved = async () => (await cluster.processorHealth(STANDBY)).answering === 1;
  await waitFor('the lane has moved', hasMoved, READY_MAX_MS);
  const { events, questions } = await stop();

  expect([...new Set(events)]).toEqual([200]);
  expect([...new Set(questions)]).toEqual([200]);
  expect(questions.length).toBeGreaterThan(20);
  for (const name of NODES) {
    expect(await received(name), name).toBeLessThanOrEqual(READS * RECORDS + FEW);
    expect(await losses(name), name).toBe(0);
    expect(cluster.process(name).log(), name).not.toContain('connection lost');
  }
  for (const name of [OTHER, STANDBY])
    expect((await received(name)) - (before.get(name) ?? 0), name).toBeLessThanOrEqual(FEW);
  expect(slowConsumers()).toEqual([]);
  expectBoundedMemory();
  await waitFor('every event is stored', async () => (await storedEvents()) >= events.length, READY_MAX_MS);
  expect(await storedEvents()).toBe(events.length);
});

test('after the bus died and came back all processes continue behind what they have', async () => {
  const before = new Map<string, number>();
  for (const name of NODES) before.set(name, await received(name));
  await cluster.kill('bus');
  for (const name of NODES)
    await waitFor(`${name} hears of it`, async () => !(await isReady(name)), READY_MAX_MS);
  await cluster.restart('bus');
  const stop = startUsing();
  for (const name of NODES) await untilReady(name);
  await stop();
  for (const name of NODES) {
    expect((await received(name)) - (before.get(name) ?? 0), name).toBeLessThanOrEqual(FEW);
    expect(await losses(name), name).toBe(0);
  }
  expect(slowConsumers()).toEqual([]);
  expectBoundedMemory();
});
