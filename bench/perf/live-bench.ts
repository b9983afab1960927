import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { Client, type Credential, rejectOf } from '../cluster/client.ts';
import { DEFAULT_SETTINGS, ShippedService } from '../cluster/shipped-service.ts';
import { PROBE_AGENT } from './answer-probe.ts';
import { type LoadFigures, runOpenLoop } from './load/load.ts';
import { type RequestPool, writePool } from './load/request-pool.ts';
import type { Arrivals, ViewersFigures } from './load/viewers.ts';
import { ViewersProcess } from './load/viewers-process.ts';
import { type Finding, rounded, type TableRow } from './results.ts';

/**
 * Question: how long after the first event of a visitor do ten thousand connections have the new number, while events
 * arrive at half of the machine's maximum rate; and what do connections and messages cost? The service is `npm start` itself.
 *
 * - `quiet site`: a visitor comes every half second, and all events of the load are of another site. Each change of the number
 *   goes to every connection.
 * - `loud site`: the load is of the watched site, whose number changes all the time, so it is sent four times a second.
 *
 * Times run from the intended start of an event. Load, connections and service share the cores. Not measured: networks, TLS,
 * event streams, several processes on one port.
 */
export interface LiveBenchOptions {
  readonly viewers: number;
  readonly ratePerSec: number;
  readonly seconds: number;
  readonly connections: number;
  readonly visitors: number;
  readonly isTiny: boolean;
}

const SEED = 20_240_506;
const GOALS = { p50Ms: 100, p99Ms: 250, connectionKB: 8 };
/** No multiple of the times between two messages of an owner (100 ms) or to a connection (250 ms). */
const ARRIVAL_EVERY_MS = 530;
const SETTLES_MS = 5_000;
const SETTLES_TINY_MS = 500;
const LAST_MESSAGES_MS = 1_000;
const ENV = {
  LIVE_CONNECTIONS_MAX: '40000',
  LIVE_CONNECTIONS_PER_ADDRESS_MAX: '40000',
  QUERY_LIMIT_PER_10_S: '0',
};
const createdSchema = z.object({
  data: z.object({ id: z.string(), client: z.object({ id: z.string(), secret: z.string() }) }),
});

/** A site of its own for the connections, so that the load of the other one does not change its number. */
interface ViewedSite {
  readonly id: string;
  readonly credential: Credential;
}

/** Result of one stretch. */
interface Stretch {
  readonly viewers: ViewersFigures;
  readonly load: LoadFigures;
  /** Cores that were busy, by part. */
  readonly cores: TableRow;
  readonly seconds: number;
  readonly lostVisitors: number;
}

export async function liveBench(options: LiveBenchOptions): Promise<Finding> {
  const folder = mkdtempSync(join(tmpdir(), 'footfall-live-bench-'));
  const client = new Client(16);
  try {
    await using service = await ShippedService.start({ ...DEFAULT_SETTINGS, env: ENV });
    const site = await createSite(client, service);
    const poolOf = (number: number, credential: Credential) =>
      writePool({
        path: join(folder, `pool-${number}`),
        seed: SEED + number,
        visitors: options.visitors,
        number,
        credential,
      });
    const ofOther = poolOf(0, service.credentials.clients.write);
    const ofSite = poolOf(1, site.credential);
    // Runs a load first, so its own memory is not counted for the connections.
    await runLoad(options, service, ofOther);
    const before = service.residentMBByPart();
    const viewers = await ViewersProcess.start(folder, {
      url: service.url,
      site: site.id,
      viewers: options.viewers,
      credential: service.credentials.clients.root,
    });
    try {
      await wait(options.isTiny ? SETTLES_TINY_MS : SETTLES_MS);
      const after = service.residentMBByPart();
      const parts = { service, viewers, client, site };
      const quiet = await measure(options, parts, { pool: ofOther, isQuiet: true });
      const loud = await measure(options, parts, { pool: ofSite, isQuiet: false });
      return finding(options, { quiet, loud, kilobytes: kilobytesEach(before, after, options.viewers) });
    } finally {
      await viewers.stop();
    }
  } finally {
    client.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function createSite(
  client: Client,
  { url, credentials }: Pick<ShippedService, 'url' | 'credentials'>,
): Promise<ViewedSite> {
  const body = JSON.stringify({ name: 'Watched' });
  const answer = await client.post(`${url}/manage/projects`, credentials.clients.root, {}, body);
  if (answer.status !== 200) throw new Error(`no site: ${rejectOf(answer)}`);
  const { data } = createdSchema.parse(answer.body);
  return { id: data.id, credential: data.client };
}

function runLoad(
  { connections, seconds, ratePerSec }: LiveBenchOptions,
  { url }: Pick<ShippedService, 'url'>,
  { path }: RequestPool,
): Promise<LoadFigures> {
  return runOpenLoop({ url, pool: path, connections, seconds, seed: SEED, ratePerSec });
}

async function measure(
  options: LiveBenchOptions,
  parts: {
    readonly service: ShippedService;
    readonly viewers: ViewersProcess;
    readonly client: Client;
    readonly site: ViewedSite;
  },
  { pool, isQuiet }: { readonly pool: RequestPool; readonly isQuiet: boolean },
): Promise<Stretch> {
  const { service, viewers } = parts;
  const arrivals: Arrivals | null = isQuiet
    ? {
        before: 0,
        startMs: performance.timeOrigin + performance.now() + ARRIVAL_EVERY_MS,
        everyMs: ARRIVAL_EVERY_MS,
      }
    : null;
  await viewers.begin(arrivals);
  const [cpuBefore, viewersBefore, startMs] = [service.cpuMicros(), viewers.cpuMicros, performance.now()];
  const [load, lostVisitors] = await Promise.all([
    runLoad(options, service, pool),
    arrivals === null ? 0 : sendArrivals(parts, arrivals, options.seconds),
  ]);
  await wait(LAST_MESSAGES_MS);
  const seconds = (performance.now() - startMs) / 1_000;
  const coresOf = (micros: number) => rounded(micros / 1_000_000 / seconds);
  const cores = Object.entries(service.cpuMicros()).map(([part, micros]): [string, number] => [
    part,
    coresOf(micros - (cpuBefore[part] ?? 0)),
  ]);
  return {
    viewers: await viewers.figures(),
    load,
    cores: { ...Object.fromEntries(cores), viewers: coresOf(viewers.cpuMicros - viewersBefore) },
    seconds,
    lostVisitors,
  };
}

/** Sends the first event of each visitor at its time; returns how many were not accepted. */
async function sendArrivals(
  { service, client, site }: Parameters<typeof measure>[1],
  { startMs, everyMs }: Arrivals,
  seconds: number,
): Promise<number> {
  const visitors = Math.floor((seconds * 1_000) / everyMs) - 1;
  const nowMs = () => performance.timeOrigin + performance.now();
  const sending: Promise<boolean>[] = [];
  for (let visitor = 0; visitor < visitors; visitor += 1) {
    await wait(Math.max(0, startMs + visitor * everyMs - nowMs()));
    sending.push(sendArrival(client, `${service.url}/track`, site.credential, visitor));
  }
  return (await Promise.all(sending)).filter((isAccepted) => !isAccepted).length;
}

async function sendArrival(
  client: Client,
  url: string,
  credential: Credential,
  visitor: number,
): Promise<boolean> {
  const headers = {
    'service-client-ip': `82.1.${visitor >> 8}.${visitor & 255}`,
    'user-agent': PROBE_AGENT,
  };
  const payload = { name: 'screen_view', properties: { __path: 'https://shop.example/arrival' } };
  const sent = client.post(url, credential, headers, JSON.stringify({ type: 'track', payload }));
  return sent.then(({ status }) => status === 200).catch(() => false);
}

/** Memory of a connection by part. Differences in parts that know nothing of connections are noise of both signs. */
function kilobytesEach(before: TableRow, after: TableRow, viewers: number): TableRow {
  return Object.fromEntries(
    Object.entries(after).map(([part, megabytes]) => [
      part,
      rounded(((megabytes - (before[part] ?? 0)) * 1_024) / viewers),
    ]),
  );
}

function finding(
  { viewers, ratePerSec, seconds, connections, visitors }: LiveBenchOptions,
  {
    quiet,
    loud,
    kilobytes,
  }: { readonly quiet: Stretch; readonly loud: Stretch; readonly kilobytes: TableRow },
): Finding {
  const { arrivals } = quiet.viewers;
  const all = kilobytes.all ?? 0;
  const judged = [
    {
      isReached: arrivals.p50Ms <= GOALS.p50Ms,
      text: `from an event to its number: p50 ${arrivals.p50Ms} ms (goal ${GOALS.p50Ms})`,
    },
    {
      isReached: arrivals.p99Ms <= GOALS.p99Ms,
      text: `from an event to its number: p99 ${arrivals.p99Ms} ms (goal ${GOALS.p99Ms})`,
    },
    { isReached: all <= GOALS.connectionKB, text: `${all} KB a connection (goal ${GOALS.connectionKB})` },
  ];
  const stretches = [quiet, loud];
  const failed = stretches.reduce((sum, { load, lostVisitors }) => sum + load.failed + lostVisitors, 0);
  const closed = stretches.reduce((sum, stretch) => sum + viewers - stretch.viewers.open, 0);
  const expected = viewers * (Math.floor((seconds * 1_000) / ARRIVAL_EVERY_MS) - 1);
  const reasons = judged.map(({ text }) => text);
  if (failed > 0) reasons.push(`${failed} requests failed`);
  if (closed > 0) reasons.push(`${closed} connections were closed`);
  if (arrivals.count !== expected)
    reasons.push(`${arrivals.count} of ${expected} changes reached a connection`);
  const isValid = failed === 0 && closed === 0 && arrivals.count === expected;
  const rows = { 'quiet site': quiet, 'loud site': loud };
  const tableOf = (rowOf: (stretch: Stretch) => TableRow) =>
    Object.fromEntries(Object.entries(rows).map(([name, stretch]) => [name, rowOf(stretch)]));
  return {
    name: 'live',
    config: { viewers, ratePerSec, seconds, connections, visitors, seed: SEED },
    figures: {},
    tables: {
      'from an event to its number': { 'quiet site': { ...arrivals } },
      'from a true number to a connection': tableOf((stretch) => ({ ...stretch.viewers.deliveries })),
      messages: tableOf((stretch) => ({
        messages: stretch.viewers.messages,
        perSec: Math.round(stretch.viewers.messages / stretch.seconds),
      })),
      load: tableOf(({ load }) => ({
        perSec: Math.round(load.perSec),
        p50Ms: rounded(load.p50Ms),
        p99Ms: rounded(load.p99Ms),
      })),
      'cores that are busy': tableOf(({ cores }) => cores),
      'KB a connection': { resident: kilobytes },
    },
    verdict: !isValid ? 'invalid' : judged.every(({ isReached }) => isReached) ? 'reached' : 'missed',
    reasons,
  };
}
