import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import { strideOf } from '../../infra/testing/thoroughness.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { EXPORT_GROUPS } from '../../processor/event-export.ts';
import { encodeHotAnswer } from '../../processor/hot.ts';
import { EVENTS_COLUMNS } from '../../processor/rows.ts';
import { type ExportedEvent, exportedEvent, exportQuery } from '../api.ts';
import { randomEvent, SCENE_AT_MS, TEXTS } from '../filters/testing/scene.ts';
import { readParameters } from '../http/parameters.ts';
import { type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { hotViewOver } from '../testing/hot-view.ts';
import { modelSite } from '../testing/owned-lanes.ts';
import { type EventColumn, eventBytes, type Row } from '../testing/row-writer.ts';
import { insertProfile, ownerOfProfiles } from '../testing/stored-profiles.ts';
import { Zones } from '../time/zone.ts';
import { answerExport } from './events.ts';
import { STREAM_FORMS, streamExport } from './streams.ts';

const EVENTS = 400;
/** So few rows per part that every hour is a part. */
const FEW = 50;
const PATIENCE = { timeout: 60_000 };
const ALL = `includes=${EXPORT_GROUPS.join(',')}`;
const zone = new Zones().of('Asia/Kolkata');
const scope = { site: modelSite('site'), zone, nowMs: SCENE_AT_MS };

const TITLES: readonly [string, ...string[]] = [
  '=1+1',
  ...['@SUM(A1)', '\t=1', '\r=1', '\n=1', '-1', '+1', ' =1', "'", 'a=1', ''],
  ...['a;=1', 'a;;"-1;b', 'a\n@x', 'a; =1', 'a,=1'],
];

// A few hours with several rows of the same millisecond, of the same session, and of both.
const seeded = new SeededRandom(11);
const events: Row<EventColumn>[] = Array.from({ length: EVENTS }, (_, index) => ({
  ...randomEvent(seeded, index),
  createdAt: SCENE_AT_MS + seeded.below(5) * HOUR_MS + seeded.below(20) - 10,
  eventId: `event-${index}`,
  title: seeded.one(TITLES),
}));
const stored = events.slice(0, EVENTS / 2).map((event) => ({ ...event, flushNumber: 1 }));
// The first of these are also in the store, but not yet known to be complete.
const hot = events.slice(EVENTS / 2).map((event) => ({ ...event, flushNumber: 2 }));

let historyStore: HistoryStore;
beforeAll(async () => {
  historyStore = await startHistoryStore();
  const elsewhere = ['other', 'short'].flatMap((projectId) =>
    events.slice(0, 20).map((event) => ({ ...event, projectId, flushNumber: 1 })),
  );
  const bytes = eventBytes([...stored, ...hot.slice(0, 70), ...elsewhere]);
  await historyStore.store.insertRowBinary('events', EVENTS_COLUMNS, [bytes], undefined);
  for (const [index, id] of ['p1', 'p2', "p'4"].entries())
    for (const version of [2, 1])
      await insertProfile(historyStore.store, 'site', {
        id,
        firstName: seeded.one(TEXTS),
        lastName: version === 1 ? 'before' : '=1+1',
        email: `${id}@example.org`,
        properties: { [seeded.one(TEXTS) || 'k']: seeded.one(TEXTS), plan: 'pro' },
        groups: ['acme', "o'g"].slice(0, index),
        createdAtMs: SCENE_AT_MS - index * HOUR_MS,
        updatedAtMs: SCENE_AT_MS + version,
        version,
      });
});
afterAll(async () => {
  await historyStore.stop();
});

function sources() {
  const bytes = eventBytes(hot);
  const hours = [...new Set(hot.map(({ createdAt }) => Math.floor(Number(createdAt) / HOUR_MS) * HOUR_MS))];
  const answer = encodeHotAnswer(
    {
      kind: 'rows',
      partition: 0,
      flushNumber: 1,
      eventBytes: bytes.length,
      sessionBytes: 0,
      eventRows: hot.length,
      sessionRows: 0,
      hours,
    },
    bytes,
  );
  const view = hotViewOver(async () => answer, 1);
  return { history: historyStore.history, hot: view, records: ownerOfProfiles() };
}

/** The bytes of a stream; they are the same for any number of parts. */
async function streamed(extension: string, query: string): Promise<Buffer> {
  const whole = await streamedInParts(extension, query, EVENTS);
  expect(await streamedInParts(extension, query, FEW)).toEqual(whole);
  return whole;
}

async function streamedInParts(extension: string, query: string, rowsPerPart: number): Promise<Buffer> {
  const form = must(
    STREAM_FORMS.find((found) => found.extension === extension),
    `no form ${extension}`,
  );
  const parameters = readParameters(query, form.schema);
  const { chunks } = await streamExport(sources(), scope, parameters, form, rowsPerPart);
  const pieces: Uint8Array[] = [];
  for await (const chunk of chunks) pieces.push(chunk);
  return Buffer.concat(pieces);
}

/** All bytes of a site's stream. Calls `onFirst` after the first, and reads on when it resolves. */
async function bytesOf(
  site: string,
  rowsPerPart: number,
  onFirst: () => Promise<void> = async () => {},
): Promise<Buffer> {
  const form = must(STREAM_FORMS[0], 'there are forms');
  const parameters = readParameters(ALL, form.schema);
  const { chunks } = await streamExport(
    sources(),
    { ...scope, site: modelSite(site) },
    parameters,
    form,
    rowsPerPart,
  );
  const pieces: Uint8Array[] = [];
  for await (const chunk of chunks) {
    if (pieces.push(chunk) === 1) await onFirst();
  }
  return Buffer.concat(pieces);
}

function deferred() {
  let resolve = () => {};
  const promise = new Promise<void>((resolved) => {
    resolve = resolved;
  });
  return { promise, resolve: () => resolve() };
}

async function lines(query: string): Promise<ExportedEvent[]> {
  const text = (await streamed('ndjson', query)).toString('utf8');
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as ExportedEvent);
}

/** The rows of all pages of `/export/events`, in the order of a stream. */
async function paged(query: string): Promise<ExportedEvent[]> {
  const { data } = await answerExport(sources(), scope, readParameters(`${query}&limit=1000`, exportQuery));
  return data.sort((a, b) => compare(placeOf(a), placeOf(b)));
}

function placeOf({ createdAt, sessionId, id }: ExportedEvent): string {
  return [createdAt.slice(0, 13), sessionId.padEnd(32, '0'), createdAt, id].join(' ');
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

test.each([
  ALL,
  '',
  'includes=meta,geo',
  `event=click&${ALL}`,
  `profileId=p1&${ALL}`,
  `start=2026-06-10T01:00:00Z&end=2026-06-10T03:00:00Z&${ALL}`,
  `filters=${encodeURIComponent('[{"name":"path","operator":"contains","value":["a"]}]')}&${ALL}`,
  'event=nothing',
])('the lines of %s equal the rows of the pages, field by field', async (query) => {
  const rows = await lines(query);
  expect(rows).toEqual(await paged(query));
  for (const row of rows) exportedEvent.strict().parse(row);
  if (query === ALL) expect(rows).toHaveLength(EVENTS);
  if (query !== ALL) return;
  const profiles = new Map(rows.map(({ profile }) => [profile?.id, profile]));
  expect([...profiles.keys()].sort()).toEqual(["p'4", 'p1', 'p2', 'p3', 'unknown', undefined]);
  expect(profiles.get('p1')).toMatchObject({ lastName: '=1+1', email: 'p1@example.org', groups: [] });
  expect(profiles.get("p'4")).toMatchObject({ groups: ['acme', "o'g"] });
  expect(profiles.get('p3')).toMatchObject({ email: '', properties: {}, createdAt: null });
});

test('a stream continues after any row by cursor', async () => {
  const all = await lines(ALL);
  for (const [index, { createdAt, sessionId, id }] of all.entries()) {
    if (index % strideOf(52) !== 0 && index !== all.length - 1) continue;
    const rest = await lines(`${ALL}&cursor=${createdAt}_${sessionId}_${id}`);
    expect(rest).toEqual(all.slice(index + 1));
  }
});

test('a stream with a limit ends early, and the next one continues there', async () => {
  const all = await lines('');
  const found: ExportedEvent[] = [];
  for (let cursor = ''; ; ) {
    const some = await lines(`limit=90${cursor}`);
    found.push(...some);
    const last = some.at(-1);
    if (last === undefined) break;
    expect(some.length).toBeLessThanOrEqual(90);
    cursor = `&cursor=${last.createdAt}_${last.sessionId}_${last.id}`;
  }
  expect(found).toEqual(all);
});

test('between its parts a long stream lets others go first, and all get what they would get alone', async () => {
  const alone = [await bytesOf('site', FEW), await bytesOf('other', 1), await bytesOf('short', EVENTS)];
  expect(alone.map(({ length }) => length > 0)).toEqual([true, true, true]);
  const readers = Array.from({ length: 3 }, () => deferred());
  let begun = 0;
  // The maximum number of running streams, two of them of one site. Each is read up to its first bytes, and begins
  // after the previous one. The last place is for a team without streams, so it must go to the other site.
  const long: Promise<Buffer>[] = [];
  for (const [index, site] of ['site', 'site', 'other'].entries()) {
    long.push(
      bytesOf(site, 1, () => {
        begun += 1;
        return must(readers[index], 'one for each').promise;
      }),
    );
    await expect.poll(() => begun, PATIENCE).toBe(index + 1);
  }
  const ended: string[] = [];
  const short = bytesOf('short', EVENTS).finally(() => ended.push('short'));
  await expect
    .poll(() => historyStore.metrics.expose(), PATIENCE)
    .toContain('query_queue_waiting{queue="streams"} 1\n');
  // Only this one is read further. It would never give way if it did not do so between its parts.
  readers[0]?.resolve();
  void long[0]?.then(() => ended.push('long'));
  expect(await short).toEqual(alone[2]);
  expect(ended).toEqual(['short']);
  for (const { resolve } of readers) resolve();
  expect(await Promise.all(long)).toEqual([alone[0], alone[0], alone[1]]);
});

test('CSV has the same rows, by the names in its header', async () => {
  const found = await csvObjects(ALL);
  const expected = (await lines(ALL)).map(flattened);
  expect(found.map((row) => textsOf(row))).toEqual(expected.map((row) => textsOf(row)));
  // An unquoted empty field is null, and a quoted one is an empty text.
  const isNull = (row: Record<string, unknown>) =>
    Object.keys(row)
      .filter((name) => row[name] === null)
      .sort();
  expect(found.map(isNull)).toEqual(expected.map(isNull));
  expect(new Set(found.flatMap(isNull))).toEqual(
    new Set(['latitude', 'longitude', 'profileCreatedAt', 'profileUpdatedAt', 'revenue']),
  );
});

/** A spreadsheet with semicolons as separators splits a text at a semicolon and begins a new cell. */
function guarded(value: string): string {
  const within = value.replace(/([;\t\r\n]"*)([=+\-@])/g, "$1'$2");
  return /^[=+\-@\t\r\n]/.test(within) ? `'${within}` : within;
}

test('a safe CSV has an apostrophe before every text that a spreadsheet would run, and numbers as they are', async () => {
  const plain = await csvObjects(ALL);
  const safe = await csvObjects(`${ALL}&safe=true`);
  const numbers = ['revenue', 'longitude', 'latitude'];
  expect(safe).toEqual(
    plain.map((row) =>
      Object.fromEntries(
        Object.entries(row).map(([name, value]) => [
          name,
          value !== null && !numbers.includes(name) ? guarded(value) : value,
        ]),
      ),
    ),
  );
  expect(new Set(safe.map(({ title }) => title))).toEqual(
    new Set([
      ...["'=1+1", "'@SUM(A1)", "'\t'=1", "'\r'=1", "'\n'=1", "'-1", "'+1", ' =1', "'", 'a=1', ''],
      ...["a;'=1", `a;;"'-1;b`, "a\n'@x", 'a; =1', 'a,=1'],
    ]),
  );
  expect(safe.some(({ profileLastName }) => profileLastName === "'=1+1")).toBe(true);
  expect(safe.some(({ revenue }) => revenue?.startsWith('-'))).toBe(true);
  expect(safe.some(({ longitude }) => longitude?.startsWith('-'))).toBe(true);
  expect(await csvObjects(`${ALL}&safe=false`)).toEqual(plain);
});

test('an independent reader finds the same rows in Parquet, with typed values', async () => {
  const bytes = await streamed('parquet', ALL);
  const file = new Uint8Array(bytes).buffer;
  const rows = await parquetRows(bytes);
  const expected = (await lines(ALL)).map((row) => textsOf(flattened(row)));
  const byId = (all: readonly Record<string, string>[]) =>
    [...all].sort((a, b) => compare(a.id ?? '', b.id ?? ''));
  expect(byId(rows)).toEqual(byId(expected));
  const [first, second] = [expected.slice(0, 150), expected.slice(150)];
  expect(await parquetRows(await streamed('parquet', `${ALL}&limit=150`))).toEqual(first);
  const { createdAt, sessionId, id } = must(first.at(-1), 'there are as many');
  const rest = await streamed('parquet', `${ALL}&cursor=${createdAt}_${sessionId}_${id}`);
  expect(await parquetRows(rest)).toEqual(second);
  const types = new Map(
    parquetMetadata(file).schema.map(({ name, type, logical_type }) => [name, logical_type?.type ?? type]),
  );
  expect(Object.fromEntries(types)).toMatchObject({
    id: 'STRING',
    createdAt: 'TIMESTAMP',
    receivedAt: 'TIMESTAMP',
    country: 'STRING',
    longitude: 'FLOAT',
    revenue: 'DECIMAL',
    groups: 'LIST',
    properties: 'MAP',
    profileEmail: 'STRING',
    profileProperties: 'MAP',
    profileGroups: 'LIST',
    profileCreatedAt: 'TIMESTAMP',
  });
});

test('an empty result is no lines, a CSV header, and a Parquet file without rows', async () => {
  expect((await streamed('ndjson', 'event=nothing')).length).toBe(0);
  expect((await streamed('csv', 'event=nothing')).toString()).toMatch(/^"id","name",.*"groups"\n$/);
  const file = new Uint8Array(await streamed('parquet', 'event=nothing')).buffer;
  expect(await parquetReadObjects({ file, compressors })).toEqual([]);
});

test.each([
  ['cursor=12', 'cursor'],
  ['cursor=2026-06-10T00:00:00.000Z_xy_ab', 'cursor'],
  ['limit=0', 'limit'],
  ['includes=everything', 'includes'],
  ['start=yesterdayish', 'start'],
])('%s is rejected with the name of the parameter', async (query, parameter) => {
  await expect(streamed('ndjson', query)).rejects.toThrow(new RegExp(`^${parameter}`));
});

async function parquetRows(bytes: Buffer): Promise<Record<string, string>[]> {
  const rows = await parquetReadObjects({ file: new Uint8Array(bytes).buffer, compressors });
  return rows.map((row) => textsOf(row));
}

/** The row as a flat format represents it. */
function flattened(row: ExportedEvent): Record<string, unknown> {
  const { profile, meta, ...rest } = row;
  return {
    ...rest,
    ...meta,
    profileFirstName: profile?.firstName ?? '',
    profileLastName: profile?.lastName ?? '',
    profileEmail: profile?.email ?? '',
    profileAvatar: profile?.avatar ?? '',
    profileProperties: profile?.properties ?? {},
    profileGroups: profile?.groups ?? [],
    profileCreatedAt: profile?.createdAt ?? null,
    profileUpdatedAt: profile?.updatedAt ?? null,
  };
}

/** Every value as one string, whatever its format. */
function textsOf(row: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(row)
      .map(([name, value]): [string, string] => [name, textOf(name, value)])
      .sort(([a], [b]) => compare(a, b)),
  );
}

function textOf(name: string, value: unknown): string {
  if (value === null || value === undefined) return '';
  if (value instanceof Date) return value.toISOString();
  if (name === 'longitude' || name === 'latitude') return String(Math.fround(Number(value)));
  // The reader computes a decimal as the double of its digits times the double of 0.0001.
  if (name === 'revenue') return Number(value).toFixed(4);
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** The rows of a CSV stream by the names in its header. */
async function csvObjects(query: string): Promise<Record<string, string | null>[]> {
  const [names = [], ...rows] = csvRows((await streamed('csv', query)).toString('utf8'));
  return rows.map((row) => Object.fromEntries(row.map((value, at) => [names[at] ?? '', value])));
}

/** RFC 4180, with null for a field that is empty and not quoted. */
function csvRows(text: string): (string | null)[][] {
  const rows: (string | null)[][] = [];
  let row: (string | null)[] = [];
  for (let at = 0; at < text.length; ) {
    let value: string | null = '';
    if (text[at] === '"') {
      for (at += 1; text[at] !== '"' || text[at + 1] === '"'; at += 1) {
        if (text[at] === '"') at += 1;
        value += text[at];
      }
      at += 1;
    } else {
      for (; text[at] !== ',' && text[at] !== '\n'; at += 1) value += text[at];
      if (value === '') value = null;
    }
    row.push(value);
    if (text[at] === '\n') {
      rows.push(row);
      row = [];
    }
    at += 1;
  }
  return rows;
}
