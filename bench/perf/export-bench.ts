import { get } from 'node:http';
import { must } from '../../infra/assert.ts';
import { Store } from '../../infra/store/store.ts';
import { EXPORT_GROUPS, EXPORT_SETTINGS, exportColumns } from '../../processor/event-export.ts';
import { STREAM_FORMS, type StreamForm } from '../../query/export/streams.ts';
import { Client, type Credential } from '../cluster/client.ts';
import { type Cluster, DATABASE } from '../cluster/cluster.ts';
import { residentBytes } from '../cluster/process-cost.ts';
import { LARGE_SITE_HOST, type LargeSiteOptions, startLargeSite, untilFinalized } from './large-site.ts';
import type { LoadedSite } from './query-site.ts';
import { type Finding, median, percentile, rounded } from './results.ts';

const TURNS = 3;
const SAMPLE_EVERY_MS = 100;
const PAGE_ROWS = 1_000;
/** Streamed before memory is measured. */
const WARMING_ROWS = 100_000;
const MEMORY_GOAL_MB = 64;
const MB = 1_048_576;
/** Settings without which the store's own statement would answer something else. */
const LOOKS = [
  'date_time_output_format',
  'output_format_json_named_tuples_as_objects',
  'allow_experimental_variant_type',
  'prefer_column_name_to_alias',
];
const RATIO_GOALS: Readonly<Partial<Record<StreamForm['extension'], number>>> = { ndjson: 0.6, parquet: 0.8 };

interface Reading {
  readonly seconds: number;
  readonly bytes: number;
}

/**
 * Question: how fast does a large site's whole export come out, in each format, compared with the same columns straight
 * from the store in the same run; how much memory does the service need; and how long does a deep page take
 * for a reader following `nextCursor`? The same reader reads both in turns, to the end. The store's own statement
 * sorts nothing, has no seam and uses the store's default settings, except for the format's look: its Parquet has bloom
 * filters, which ours has not.
 *
 * Not compared: exports during ingestion, readers on another machine.
 */
export async function exportBench(options: LargeSiteOptions): Promise<Finding> {
  const { isTiny } = options;
  const { plan, loaded, ...started } = await startLargeSite(options);
  await using cluster = started.cluster;
  await cluster.ready(LARGE_SITE_HOST);
  const settled = await settle(cluster, loaded, isTiny);
  const peaks: Record<string, Awaited<ReturnType<typeof memoryPeaks>>> = {};
  // This comes before the store's own statements, which leave the store with the memory that they took.
  for (const form of STREAM_FORMS) {
    process.stdout.write(`reading ${form.extension} for its memory\n`);
    peaks[form.extension] = await memoryPeaks(cluster, form);
  }
  const rows = await rowCount(cluster);
  const formats: Record<string, Record<string, number>> = {};
  const goals: [isReached: boolean, words: string][] = [];
  let isWhole = true;
  for (const form of STREAM_FORMS) {
    process.stdout.write(`reading ${form.extension}\n`);
    const figures = await compare(cluster, form, rows, isTiny ? 1 : TURNS);
    isWhole &&= figures.isWhole;
    const memory = must(peaks[form.extension], 'every form was read for its memory');
    const { hostPeakMB, storePeakMB } = memory;
    formats[form.extension] = { ...figures.row, ...memory };
    const goal = RATIO_GOALS[form.extension];
    const ratio = figures.row.ratio ?? 0;
    if (goal !== undefined)
      goals.push([ratio >= goal, `${form.extension}: ${ratio} of the store's own rate, goal ${goal}`]);
    goals.push([
      Math.max(hostPeakMB, storePeakMB) <= MEMORY_GOAL_MB,
      `${form.extension}: ${hostPeakMB} MB above idle, and the store ${storePeakMB}, goal ${MEMORY_GOAL_MB} each`,
    ]);
  }
  const pages = await followPages(cluster, isTiny ? 5 : 150);
  const isReached = goals.every(([reached]) => reached);
  return {
    name: 'export',
    config: { events: loaded.events, rows, seed: plan.seed, pageRows: PAGE_ROWS, ...settled },
    figures: pages,
    tables: { formats },
    verdict: !isWhole ? 'invalid' : isReached ? 'reached' : 'missed',
    reasons: [
      ...goals.map(([reached, words]) => `${reached ? 'reached' : 'missed '} ${words}`),
      ...(isWhole ? [] : ['a stream did not hold every row']),
    ],
  };
}

async function settle(cluster: Cluster, loaded: LoadedSite, isTiny: boolean) {
  const store = new Store({ url: cluster.storeUrl, database: DATABASE, requestTimeoutMs: 60_000 });
  try {
    return await untilFinalized(store, loaded, isTiny);
  } finally {
    await store.close();
  }
}

async function compare(cluster: Cluster, form: StreamForm, rows: number, turns: number) {
  const address = streamAddress(cluster, form);
  const { read } = cluster.credentials.clients;
  const ours: Reading[] = [];
  const raw: Reading[] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    ours.push(await readAll(address, headersOf(read)));
    raw.push(await readAll(rawAddress(cluster, form), {}));
  }
  const rate = (readings: readonly Reading[]) => rows / median(readings.map(({ seconds }) => seconds));
  const row: Record<string, number> = {
    rowsPerSec: Math.round(rate(ours)),
    rawRowsPerSec: Math.round(rate(raw)),
    ratio: rounded(rate(ours) / rate(raw)),
    mbPerSec: rounded(median(ours.map(({ seconds, bytes }) => bytes / MB / seconds))),
    bytesPerRow: rounded(median(ours.map(({ bytes }) => bytes)) / rows),
  };
  // Tests check the content of the other formats. Visits end meanwhile, which adds events.
  if (form.extension !== 'ndjson') return { row, isWhole: true };
  const lines = await lineCount(address, headersOf(read));
  return { row, isWhole: lines >= rows && lines <= (await rowCount(cluster)) };
}

/**
 * Additional memory of the processes while everything is read, compared with a small part: the engine retains the memory of its
 * first question of a kind (`firstStorePeakMB`).
 */
async function memoryPeaks(cluster: Cluster, form: StreamForm) {
  const few = streamAddress(cluster, form);
  few.searchParams.set('limit', String(WARMING_ROWS));
  const first = await memoryPeak(cluster, few);
  const all = await memoryPeak(cluster, streamAddress(cluster, form));
  return { hostPeakMB: all.host, storePeakMB: all.store, firstStorePeakMB: first.store };
}

async function memoryPeak(cluster: Cluster, address: URL): Promise<Record<'host' | 'store', number>> {
  const idle = memoryOf(cluster);
  const peak = { host: 0, store: 0 };
  const sampling = setInterval(() => {
    const now = memoryOf(cluster);
    peak.host = Math.max(peak.host, now.host - idle.host);
    peak.store = Math.max(peak.store, now.store - idle.store);
  }, SAMPLE_EVERY_MS);
  await readAll(address, headersOf(cluster.credentials.clients.read));
  clearInterval(sampling);
  return { host: rounded(peak.host / MB), store: rounded(peak.store / MB) };
}

function streamAddress(cluster: Cluster, form: StreamForm): URL {
  const address = new URL(`${cluster.url(LARGE_SITE_HOST)}/export/events.${form.extension}`);
  address.searchParams.set('includes', EXPORT_GROUPS.join(','));
  return address;
}

/** The statement that a user would write to get the same columns from the store. */
function rawAddress(cluster: Cluster, form: StreamForm): URL {
  const address = new URL(cluster.storeUrl);
  const { projectId } = cluster.credentials;
  const columns = exportColumns(form.shape, EXPORT_GROUPS);
  address.searchParams.set('database', DATABASE);
  address.searchParams.set('param_projectId', projectId);
  for (const name of LOOKS) address.searchParams.set(name, String(EXPORT_SETTINGS[name]));
  address.searchParams.set(
    'query',
    `SELECT ${columns} FROM events AS row WHERE projectId = {projectId:String} FORMAT ${form.format}`,
  );
  return address;
}

async function rowCount(cluster: Cluster): Promise<number> {
  await using store = cluster.openStore();
  const answer = await store.query({ query: 'SELECT count() AS rows FROM events', format: 'JSONEachRow' });
  const [first] = await answer.json<{ rows: string }>();
  return Number(first?.rows ?? 0);
}

/** The first pages and the last ones of a walk. */
async function followPages(cluster: Cluster, count: number) {
  const client = new Client(1, 120_000);
  const times: number[] = [];
  let cursor: string | null = '';
  while (times.length < count && cursor !== null) {
    const address = new URL(`${cluster.url(LARGE_SITE_HOST)}/export/events`);
    address.searchParams.set('limit', String(PAGE_ROWS));
    address.searchParams.set('cursor', cursor);
    const startedAt = performance.now();
    const { body } = await client.get(address.href, cluster.credentials.clients.read);
    times.push(performance.now() - startedAt);
    cursor = (body as { meta: { nextCursor: string | null } }).meta.nextCursor;
  }
  client.close();
  const tenth = Math.ceil(times.length / 10);
  return {
    pagesFollowed: times.length,
    firstPagesP50Ms: rounded(percentile(times.slice(0, tenth), 0.5)),
    lastPagesP50Ms: rounded(percentile(times.slice(-tenth), 0.5)),
  };
}

function memoryOf(cluster: Cluster): { readonly host: number; readonly store: number } {
  return {
    host: residentBytes(cluster.process(LARGE_SITE_HOST).pid),
    store: residentBytes(cluster.process('store').pid),
  };
}

function readAll(address: URL, headers: Readonly<Record<string, string>>): Promise<Reading> {
  const startedAt = performance.now();
  return new Promise((done, fail) => {
    get(address, { headers }, (incoming) => {
      let bytes = 0;
      let begin = '';
      incoming.on('data', (chunk: Buffer) => {
        if (bytes === 0) begin = chunk.toString('latin1', 0, 500);
        bytes += chunk.length;
      });
      incoming.once('error', fail);
      incoming.once('end', () => {
        if (incoming.statusCode !== 200) fail(new Error(`${incoming.statusCode} ${begin}`));
        else done({ bytes, seconds: (performance.now() - startedAt) / 1_000 });
      });
    }).once('error', fail);
  });
}

function lineCount(address: URL, headers: Readonly<Record<string, string>>): Promise<number> {
  return new Promise((done, fail) => {
    get(address, { headers }, (incoming) => {
      let lines = 0;
      incoming.on('data', (chunk: Buffer) => {
        for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines += 1;
      });
      incoming.once('error', fail);
      incoming.once('end', () => done(lines));
    }).once('error', fail);
  });
}

function headersOf({ id, secret }: Credential): Readonly<Record<string, string>> {
  return { 'service-client-id': id, 'service-client-secret': secret };
}
