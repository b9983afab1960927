import { parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import { createLogger } from '../../infra/log.ts';
import { Metrics } from '../../infra/metrics.ts';
import { acceptServer, featuresOf, OPTIONAL_SETTINGS } from '../../infra/store/server-features.ts';
import { Store } from '../../infra/store/store.ts';
import { startOlderServer } from '../../infra/testing/older-server.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { EXPORT_GROUPS } from '../../processor/event-export.ts';
import { metricsQuery } from '../api.ts';
import { STREAM_FORMS, streamExport } from '../export/streams.ts';
import { readParameters } from '../http/parameters.ts';
import { answerMetrics } from '../insights/metrics.ts';
import { type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { addTraffic } from '../testing/model-traffic.ts';
import { modelSite, OwnedLanes } from '../testing/owned-lanes.ts';
import { insertProfile, ownerOfProfiles } from '../testing/stored-profiles.ts';
import { Zones } from '../time/zone.ts';
import { History } from './history.ts';

// A server of 24.8 in front of the engine (infra/testing/older-server.ts). Everything is written through it, and its
// answers must equal those without it.

const NOW_MS = Date.parse('2026-05-05T12:00:00Z');
const UNKNOWN_SETTING = 115;
const zone = new Zones().of('Asia/Kolkata');
const scope = { site: modelSite('site', 'Asia/Kolkata'), zone, nowMs: NOW_MS };
const lanes = new OwnedLanes(2);

let fixture: HistoryStore;
/** The same tables without the server in front. */
let direct: Store;
let directHistory: History;
let engineUrl = '';

beforeAll(async () => {
  fixture = await startHistoryStore(NOW_MS, { isOlder: true });
  engineUrl = must(fixture.target.older, 'a server stands in front').target;
  direct = new Store({ url: engineUrl, database: fixture.target.database, requestTimeoutMs: 60_000 });
  directHistory = new History({
    shards: [{ store: direct, streams: direct, isReachable: () => true }],
    limits: { timeMaxMs: 30_000, memoryMaxBytes: 1_073_741_824 },
    metrics: new Metrics(),
  });
  const seeded = new SeededRandom(7);
  addTraffic(lanes, seeded, { events: 600, fromMs: NOW_MS - 90 * HOUR_MS, toMs: NOW_MS - 3 * HOUR_MS });
  for (const owner of lanes.owners) {
    await fixture.land(owner, owner.cut());
    owner.complete();
  }
  addTraffic(lanes, seeded, { events: 60, fromMs: NOW_MS - 3 * HOUR_MS, toMs: NOW_MS });
  await insertProfile(fixture.store, 'site', {
    id: 'p1',
    firstName: 'Ada "the first"',
    lastName: '',
    email: 'ada@example.org',
    properties: { plan: 'pro' },
    groups: ['acme'],
    createdAtMs: NOW_MS - HOUR_MS,
    updatedAtMs: NOW_MS,
    version: 1,
  });
});
afterAll(async () => {
  await direct?.close();
  await fixture?.stop();
});

async function streamed(history: History, extension: string): Promise<Buffer> {
  const form = must(
    STREAM_FORMS.find((found) => found.extension === extension),
    extension,
  );
  const query = `includes=${EXPORT_GROUPS.join(',')}&start=2026-05-01&end=2026-05-05`;
  const parameters = readParameters(query, form.schema);
  const sources = { history, hot: lanes.hotView(), records: ownerOfProfiles() };
  const { chunks } = await streamExport(sources, scope, parameters, form);
  const pieces: Uint8Array[] = [];
  for await (const chunk of chunks) pieces.push(chunk);
  return Buffer.concat(pieces);
}

test.each(['range=7d', 'range=last24h&interval=hour', 'range=30min'])(
  'metrics?%s is alike',
  async (query) => {
    const ask = (history: History) =>
      answerMetrics({ history, hot: lanes.hotView() }, scope, readParameters(query, metricsQuery));
    const answer = await ask(fixture.history);
    expect(answer.metrics.total_screen_views).toBeGreaterThan(0);
    expect(answer).toEqual(await ask(directHistory));
  },
);

/** Rows in an order of their own. The bytes of Parquet differ: the engine adds bloom filters, which a server of 24.8 does not have. */
async function rowsOf(extension: string, file: Buffer): Promise<unknown[]> {
  if (extension !== 'parquet') return file.toString('latin1').split('\n').sort();
  const buffer = Uint8Array.from(file).buffer;
  const rows = await parquetReadObjects({ file: buffer, compressors });
  return rows
    .map((row) => JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? String(value) : value)))
    .sort();
}

test.each(STREAM_FORMS.map(({ extension }) => extension))('an export as %s is alike', async (extension) => {
  const file = await streamed(fixture.history, extension);
  const text = file.toString('latin1');
  expect(text).toContain('Ada');
  expect(await rowsOf(extension, file)).toEqual(
    await rowsOf(extension, await streamed(directHistory, extension)),
  );
});

test('it is known by its version and by the settings that it lacks, and by what it rejects', async () => {
  const older = must(fixture.target.older, 'a server stands in front');
  expect(older.texts.length).toBeGreaterThan(50);
  // The server rejected none of our own settings.
  expect(older.rejected).toEqual([]);
  expect(await fixture.store.features()).toMatchObject({
    version: '24.8.14.39',
    problem: undefined,
    known: [],
  });
  const { known } = await direct.features();
  expect(known.toSorted()).toEqual(Object.keys(OPTIONAL_SETTINGS).toSorted());
  for (const name of Object.keys(OPTIONAL_SETTINGS)) {
    const sent = fixture.store.query(`SELECT 1 SETTINGS ${name} = 0`);
    await expect(sent).rejects.toMatchObject({ code: UNKNOWN_SETTING });
  }
  expect(older.rejected).toEqual(Object.keys(OPTIONAL_SETTINGS));
});

test('the text of no statement names a person or an event, so that a log of the server has none', async () => {
  const { texts } = must(fixture.target.older, 'a server stands in front');
  expect((await fixture.store.features()).keepsTexts).toBe(true);
  expect((await direct.features()).keepsTexts).toBe(false);
  expect(texts.some((text) => text.includes('FROM hot_events'))).toBe(true);
  // Hot rows in a text have this form.
  expect(texts.filter((text) => /unhex\('[0-9a-f]{16}/.test(text))).toEqual([]);
});

test('a server logs the values that are bound, so no statement with any is logged', async () => {
  const { bound } = must(fixture.target.older, 'a server stands in front');
  const before = bound.length;
  await fixture.store.query('SELECT {name:String} AS name', { name: 'p1' });
  await fixture.store.command('SELECT {name:String}', { name: 'p1' });
  expect(bound.length).toBe(before + 2);
  // The question for the server's version comes before the version is known, and names settings only.
  const logged = bound.filter(({ text, isLogged }) => isLogged && !text.includes('system.settings'));
  expect(logged).toEqual([]);
  expect(bound.length).toBeGreaterThan(30);
});

test('a server before 24.8 is refused in one sentence, and questions do not reach it', async () => {
  const tooOld = await startOlderServer(engineUrl, '24.3.18.7');
  const store = new Store({ url: tooOld.url, database: fixture.target.database, requestTimeoutMs: 60_000 });
  const features = await store.features();
  expect(() => acceptServer(features, createLogger('test', 'silent'))).toThrow(
    'the store is ClickHouse 24.3.18.7, and footfall needs 24.8 or later',
  );
  expect(await store.rejectsUs()).toBe(true);
  expect([await fixture.store.rejectsUs(), await direct.rejectsUs()]).toEqual([false, false]);
  await store.close();
  await tooOld.stop();
});

test.each([
  ['23.12.6.19', false],
  ['24.3.1.1', false],
  ['24.8.1.2684', true],
  ['24.10.1.2812', true],
  ['25.1.1.1', true],
  ['26.7.2.1', true],
  ['local build', true],
])('%s is supported: %s', (version, isSupported) => {
  const row = { version, known: [], parameterMaxBytes: 1, maySkipLog: 1, isCloud: 0 };
  const { problem } = featuresOf(row, 'elsewhere', '');
  expect(problem).toEqual(isSupported ? undefined : expect.stringContaining('or later: upgrade the server'));
});
