import { afterAll, beforeAll, expect, test } from 'vitest';
import { encodeHotAnswer } from '../../processor/hot.ts';
import { EVENTS_COLUMNS } from '../../processor/rows.ts';
import { type ExportAnswer, exportQuery } from '../api.ts';
import { answerExport } from '../export/events.ts';
import { readParameters } from '../http/parameters.ts';
import { eventListInsight } from '../insights/event-list.ts';
import { eventListQuery } from '../insights/event-list-api.ts';
import { PAGE_CHARS_MAX, sizeOf } from '../page-size.ts';
import { type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { hotViewOver } from '../testing/hot-view.ts';
import { modelSite } from '../testing/owned-lanes.ts';
import { eventBytes } from '../testing/row-writer.ts';
import { ownerOfProfiles } from '../testing/stored-profiles.ts';
import { Zones } from '../time/zone.ts';
import { profileListInsight } from './profile-list.ts';
import { profileListQuery } from './profile-list-api.ts';
import { recordsOf } from './testing/records.ts';

const NOW_MS = Date.parse('2026-06-09T12:00:00Z');
/** Larger than today's cap in bytes, as in a backup of 0.1.0. */
const PEOPLE = 24;
const PROFILE_CHARS = 400_000;
const ROW_CHARS_MAX = 500_000;
const scope = { site: modelSite('fat'), zone: new Zones().of('UTC'), nowMs: NOW_MS };

let fixture: HistoryStore;
beforeAll(async () => {
  fixture = await startHistoryStore();
  await insertFatProfiles('fat', PEOPLE);
  const events = Array.from({ length: PEOPLE }, (_, index) => ({
    projectId: 'fat',
    flushNumber: 1,
    name: 'screen_view',
    id: String(10 + index),
    createdAt: NOW_MS - 1_000 - index,
    profileId: `p${index}`,
    properties: ['text', 'x'.repeat(PROFILE_CHARS)],
  }));
  await fixture.store.insertRowBinary('events', EVENTS_COLUMNS, [eventBytes(events)], undefined);
});
afterAll(() => fixture.stop());

/** The profiles `p0` and so on, each with a hundred long properties. */
async function insertFatProfiles(site: string, people: number): Promise<void> {
  await fixture.store.command(
    `INSERT INTO profiles (projectId, id, properties, createdAt, updatedAt, version)
     SELECT {site:String}, concat('p', toString(number)),
       mapFromArrays(arrayMap(i -> concat('k', toString(i)), range(100)), arrayMap(i -> repeat('é', ${PROFILE_CHARS / 100}), range(100))),
       fromUnixTimestamp64Milli({now:Int64} - number), fromUnixTimestamp64Milli({now:Int64}), 1
     FROM numbers({people:UInt32})`,
    { site, people, now: NOW_MS },
  );
}

const NOTHING_HOT = {
  kind: 'rows',
  partition: 0,
  flushNumber: 1,
  ...{ eventBytes: 0, sessionBytes: 0, eventRows: 0, sessionRows: 0, hours: [] },
} as const;

function sources() {
  const hot = hotViewOver(async () => encodeHotAnswer(NOTHING_HOT, Buffer.of()), 1);
  return { history: fixture.history, hot, records: ownerOfProfiles() };
}

function askExport(text: string): Promise<ExportAnswer> {
  return answerExport(sources(), scope, readParameters(text, exportQuery));
}

/** The rows of all pages, and the size of each page. */
async function walk<Row>(
  pageOf: (cursor: string) => Promise<readonly [rows: readonly Row[], next: string | null]>,
) {
  const rows: Row[] = [];
  const sizes: number[] = [];
  for (let cursor: string | null = '0'; cursor !== null; ) {
    const [page, next]: readonly [readonly Row[], string | null] = await pageOf(cursor);
    rows.push(...page);
    sizes.push(sizeOf(page));
    cursor = next;
    expect(sizes.length).toBeLessThan(100);
  }
  return { rows, sizes };
}

test('pages of an export with large profiles end by their size, and none of their events is missing', async () => {
  const { rows, sizes } = await walk(async (cursor) => {
    const { data, meta } = await askExport(`includes=profile,properties&limit=1000&cursor=${cursor}`);
    expect([meta.count, meta.totalCount]).toEqual([data.length, PEOPLE]);
    return [data, meta.nextCursor];
  });
  expect(rows.map(({ profileId }) => profileId)).toEqual(
    Array.from({ length: PEOPLE }, (_, index) => `p${index}`),
  );
  for (const { profile, profileId } of rows)
    expect([profile?.id, Object.keys(profile?.properties ?? {}).length]).toEqual([profileId, 100]);
  expect(sizes.length).toBeGreaterThan(3);
  expect(Math.max(...sizes)).toBeLessThan(PAGE_CHARS_MAX + 2 * ROW_CHARS_MAX);
});

test('one profile of many events counts with each of them', async () => {
  const events = Array.from({ length: 200 }, (_, index) => ({
    projectId: 'loyal',
    flushNumber: 1,
    name: 'screen_view',
    id: String(100 + index),
    createdAt: NOW_MS - 1_000 - index,
    profileId: 'p0',
  }));
  await fixture.store.insertRowBinary('events', EVENTS_COLUMNS, [eventBytes(events)], undefined);
  await insertFatProfiles('loyal', 1);
  const query = readParameters('includes=profile&limit=1000&cursor=0', exportQuery);
  const { data } = await answerExport(sources(), { ...scope, site: modelSite('loyal') }, query);
  expect(data).toHaveLength(Math.ceil(PAGE_CHARS_MAX / (PROFILE_CHARS + 1_000)));
});

test('a page with a number is rejected where it would lack rows, because the next number continues behind its limit', async () => {
  for (const page of ['', '&page=1'])
    await expect(askExport(`includes=profile&limit=1000${page}`)).rejects.toMatchObject({
      status: 400,
      message: expect.stringMatching(/^limit: /),
    });
  expect((await askExport('includes=profile&limit=5&page=2')).data.map(({ profileId }) => profileId)).toEqual(
    ['p5', 'p6', 'p7', 'p8', 'p9'],
  );
  expect((await askExport('limit=1000')).data).toHaveLength(PEOPLE);
});

test('pages of lists of profiles and of events end by their size', async () => {
  const { history, hot } = sources();
  const profiles = profileListInsight({ history, hot, records: recordsOf({ stored: 'stored' }) });
  const listed = await walk(async (cursor) => {
    const query = readParameters(`limit=1000&cursor=${cursor}`, profileListQuery);
    const page = await profiles.answer(scope, query);
    return [page, profiles.next?.(query, page) ?? null];
  });
  expect(listed.rows.map(({ id }) => id)).toEqual(Array.from({ length: PEOPLE }, (_, index) => `p${index}`));
  const events = eventListInsight({ history, hot });
  const happened = await walk(async (cursor) => {
    const query = readParameters(`range=7d&limit=1000&cursor=${cursor}`, eventListQuery);
    const page = await events.answer(scope, query);
    return [page, events.next?.(query, page) ?? null];
  });
  expect(happened.rows).toHaveLength(PEOPLE);
  for (const { sizes } of [listed, happened])
    expect(Math.max(...sizes)).toBeLessThan(PAGE_CHARS_MAX + ROW_CHARS_MAX);
});
