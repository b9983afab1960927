import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { repeats } from '../../infra/testing/thoroughness.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { encodeHotAnswer } from '../../processor/hot.ts';
import { EVENTS_COLUMNS } from '../../processor/rows.ts';
import { exportQuery } from '../api.ts';
import { answerExport } from '../export/events.ts';
import { readParameters } from '../http/parameters.ts';
import { type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { hotViewOver } from '../testing/hot-view.ts';
import { modelSite } from '../testing/owned-lanes.ts';
import { type EventColumn, eventBytes, type Row } from '../testing/row-writer.ts';
import { ownerOfProfiles } from '../testing/stored-profiles.ts';
import { Zones } from '../time/zone.ts';
import { isSelected, type RequestedFilter } from './testing/evaluate.ts';
import { IDS, KEYS, randomEvent, randomRecord, SCENE_AT_MS, TEXTS } from './testing/scene.ts';
import { insertRecord } from './testing/stored-record.ts';

const EVENTS = 240;
const RUNS = repeats(100);
const zone = new Zones().of('UTC');

const PATTERNS = [
  '^a',
  'b$',
  '.',
  '^$',
  'a.b',
  '[É☂]',
  '(?:A|☂)+',
  '^[0-9.]+$',
  "'",
  '\\\\',
  'a|5',
  '\u0000',
  '^.?$',
];
const NUMBERS = [0, 5, -2.5, 0.1, 12.34, 1234, 1.234, 0.1234, 13.4, '1e3', '9007199254740993'] as const;
const seeded = new SeededRandom(7);
const events = Array.from({ length: EVENTS }, (_, index) => randomEvent(seeded, index));
const stored = events.slice(0, EVENTS / 2).map((event) => ({ ...event, flushNumber: 1 }));
// The first of these are also in the store, but not yet known to be complete.
const hot = events.slice(EVENTS / 2).map((event) => ({ ...event, flushNumber: 2 }));
const elsewhere = events.slice(0, 20).map((event) => ({ ...event, projectId: 'other', flushNumber: 1 }));
const records = () => ['p1', 'p2', 'p3', "p'4"].map((id) => randomRecord(seeded, id));
const known = { profiles: records(), groups: records() };

let historyStore: HistoryStore;
beforeAll(async () => {
  historyStore = await startHistoryStore();
  const bytes = eventBytes([...stored, ...hot.slice(0, 30), ...elsewhere]);
  await historyStore.store.insertRowBinary('events', EVENTS_COLUMNS, [bytes], undefined);
  for (const table of ['profiles', 'groups'] as const) {
    // Outdated versions and records of another site must not count; a merge would drop the outdated versions.
    await historyStore.store.command(`SYSTEM STOP MERGES ${table}`);
    for (const record of records())
      await insertRecord(historyStore.store, table, record, { site: 'site', version: 1 });
    for (const record of known[table])
      await insertRecord(historyStore.store, table, record, { site: 'site', version: 2 });
    for (const record of records())
      await insertRecord(historyStore.store, table, record, { site: 'other', version: 3 });
    await insertRecord(historyStore.store, table, randomRecord(seeded, 'unknown'), {
      site: 'other',
      version: 1,
    });
  }
});
afterAll(async () => {
  await historyStore.stop();
});

function ask(filters: unknown, more = {}) {
  const bytes = eventBytes(hot);
  const head = {
    partition: 0,
    flushNumber: 1,
    eventBytes: bytes.length,
    sessionBytes: 0,
    sessionRows: 0,
    hours: [],
  };
  const answer = encodeHotAnswer({ kind: 'rows', ...head, eventRows: hot.length }, bytes);
  const view = hotViewOver(async () => answer, 1);
  const query = new URLSearchParams({ filters: JSON.stringify(filters), limit: '1000', ...more }).toString();
  const scope = { site: modelSite('site'), zone, nowMs: SCENE_AT_MS };
  return answerExport(
    { history: historyStore.history, hot: view, records: ownerOfProfiles() },
    scope,
    readParameters(query, exportQuery),
  );
}

async function idsOf(filters: unknown): Promise<string[]> {
  const { data, meta } = await ask(filters);
  expect(meta).toMatchObject({ count: data.length, totalCount: data.length });
  return data.map(({ id }) => id.replace(/^0+/, ''));
}

function expectedIds(filters: readonly RequestedFilter[]): string[] {
  return events
    .filter((event) => isSelected(filters, { event, visit: undefined, ...known }))
    .sort((a, b) => Number(b.createdAt) - Number(a.createdAt) || idOf(a) - idOf(b))
    .map(({ id }) => String(id));
}

function idOf({ id }: Row<EventColumn>): number {
  return Number.parseInt(String(id), 16);
}

const textNames = fc.oneof(
  fc.constantFrom(
    'path',
    'referrer_name',
    'utmSource',
    'browser_version',
    'language',
    'timezone',
    'screen',
    'deviceId',
    'profileId',
    'currency',
  ),
  fc.constantFrom('groups', 'group.id', 'group.name', 'group.type', 'profile.id', 'profile.groups'),
  fc.constantFrom('profile.firstName', 'profile.email', 'session_id', 'id', 'name'),
  fc
    .tuple(
      fc.constantFrom('properties.', 'profile.properties.', 'group.properties.'),
      fc.constantFrom(...KEYS),
    )
    .map(([owner, key]) => owner + key),
);
const anyName = fc.oneof(
  textNames,
  fc.constantFrom('revenue', 'longitude', 'latitude', 'createdAt', 'received_at'),
  fc.constantFrom('profile.createdAt', 'group.updated_at'),
);
const texts = fc.constantFrom(...TEXTS, ...IDS, 'ab'.padStart(32, '0'), 'screen_view', 'EUR');
const values = (one: fc.Arbitrary<string | number | boolean>) =>
  fc.array(one, { minLength: 1, maxLength: 3 });
const orders = fc.constantFrom('gt', 'gte', 'lt', 'lte');
const times = fc.integer({ min: 0, max: 5 }).map((ms) => new Date(SCENE_AT_MS + ms).toISOString());
const timeNames = fc.constantFrom('createdAt', 'received_at', 'profile.created_at', 'group.updatedAt');
const filter: fc.Arbitrary<RequestedFilter> = fc.oneof(
  fc.record({
    name: textNames,
    operator: fc.constantFrom('is', 'isNot'),
    value: values(fc.oneof(texts, fc.boolean())),
  }),
  fc.record({
    name: textNames,
    operator: fc.constantFrom('contains', 'doesNotContain', 'startsWith', 'endsWith'),
    value: values(texts.filter((one) => one !== '')),
  }),
  fc.record({
    name: textNames,
    operator: fc.constant('regex'),
    value: values(fc.constantFrom(...PATTERNS)),
  }),
  fc.record({ name: anyName, operator: fc.constantFrom('isNull', 'isNotNull'), value: fc.constant([]) }),
  fc.record({ name: textNames, operator: orders, value: values(fc.constantFrom(...NUMBERS)) }),
  fc.record({
    name: fc.constantFrom('revenue', 'longitude', 'latitude'),
    operator: fc.oneof(orders, fc.constantFrom('is', 'isNot')),
    value: values(fc.constantFrom(...NUMBERS)),
  }),
  fc.record({
    name: timeNames,
    operator: fc.oneof(orders, fc.constantFrom('is', 'isNot')),
    value: values(times),
  }),
);

test('filters select the same rows as an evaluation row by row, hot or stored', async () => {
  let selected = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(filter, { minLength: 1, maxLength: 3 }), async (filters) => {
      const ids = await idsOf(filters);
      expect(ids).toEqual(expectedIds(filters));
      if (ids.length > 0 && ids.length < EVENTS) selected += 1;
    }),
    { numRuns: RUNS },
  );
  expect(selected).toBeGreaterThan(RUNS / 5);
});

test.each(TEXTS)('a value is itself wherever it stands: %j', async (value) => {
  for (const name of ['path', 'profile.email']) {
    for (const operator of ['is', ...(value === '' ? [] : ['contains', 'startsWith', 'endsWith'])]) {
      const filters = [{ name, operator, value: [value] }];
      expect(await idsOf(filters)).toEqual(expectedIds(filters));
    }
  }
});

test.each([...KEYS, 'none', "'); DROP TABLE events --", 'nul\u0000l', 'a\nb\t'])(
  'a property key is taken literally: %j',
  async (key) => {
    for (const owner of ['properties.', 'profile.properties.', 'group.properties.']) {
      const filters = [{ name: owner + key, operator: 'isNotNull', value: [] }];
      expect(await idsOf(filters)).toEqual(expectedIds(filters));
    }
  },
);

test('pages of filtered events are consecutive, and their total is that of all', async () => {
  const filters = [{ name: 'name', operator: 'is', value: ['click'] }];
  const all = expectedIds(filters);
  const { data, meta } = await ask(filters, { limit: '7', page: '3' });
  expect(data.map(({ id }) => id.replace(/^0+/, ''))).toEqual(all.slice(14, 21));
  const pages = Math.ceil(all.length / 7);
  expect(meta).toMatchObject({ count: 7, totalCount: all.length, pages, current: 3 });
});

test('the maximum number of values is accepted', async () => {
  const many = Array.from({ length: 1_000 }, (_, index) => `x${index}`);
  expect(await idsOf([{ name: 'path', operator: 'is', value: [...many.slice(1), 'abc'] }])).toEqual(
    expectedIds([{ name: 'path', operator: 'is', value: ['abc'] }]),
  );
  const id = 'cd'.padStart(32, '0');
  const paid = { name: 'revenue', operator: 'lt', value: [1e9] };
  const contained = { name: 'session_id', operator: 'contains', value: [...many.slice(1), id] };
  expect(await idsOf([contained, ...Array.from({ length: 49 }, () => paid)])).toEqual(
    expectedIds([{ name: 'session_id', operator: 'is', value: [id] }, paid]),
  );
  const patterns = many.slice(0, 19).map((value) => `^${value}$`);
  expect(await idsOf([{ name: 'group.name', operator: 'regex', value: [...patterns, '^abc$'] }])).toEqual(
    expectedIds([{ name: 'group.name', operator: 'is', value: ['abc'] }]),
  );
  const few = { name: 'profile.groups', operator: 'doesNotContain', value: many.slice(0, 20) };
  expect(await idsOf(Array.from({ length: 50 }, () => few))).toHaveLength(EVENTS);
});

test.each([
  '(',
  '[a',
  'a**',
  '(?=a)',
  '\\1',
  'a{1001}',
  '(a{1000}){1000}',
  '(((a{100}){100}){100}){100}',
  '(?P<x',
])('the regular expression %s is rejected, whatever rows exist', async (pattern) => {
  const rejected = { status: 400, message: 'filters: a regular expression cannot be read' };
  const nowhere = { name: 'country', operator: 'is', value: ['nowhere'] };
  for (const name of ['path', 'groups', 'properties.none', 'profile.email', 'group.properties.k']) {
    const broken = { name, operator: 'regex', value: ['fine', pattern] };
    await expect(ask([broken])).rejects.toMatchObject(rejected);
    await expect(ask([nowhere, broken], { end: '1990-01-01' })).rejects.toMatchObject(rejected);
  }
});

test('a regular expression that backtracks exponentially elsewhere returns', async () => {
  const filters = [{ name: 'path', operator: 'regex', value: ['^(a+)+(a|aa)*([a-z]*)*$'] }];
  expect(await idsOf(filters)).toEqual(expectedIds(filters));
});

test('an amount is compared in major units of its own currency', async () => {
  const amounts = (value: number) => [{ name: 'revenue', operator: 'is', value: [value] }];
  for (const value of [12.34, 1234, 1.234, 0.1234]) {
    expect(expectedIds(amounts(value)).length).toBeGreaterThan(0);
    expect(await idsOf(amounts(value))).toEqual(expectedIds(amounts(value)));
  }
});
