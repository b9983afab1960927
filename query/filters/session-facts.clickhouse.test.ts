import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { exportQuery, streamQuery } from '../api.ts';
import { answerExport } from '../export/events.ts';
import { STREAM_FORMS, streamExport } from '../export/streams.ts';
import { readParameters } from '../http/parameters.ts';
import { sessionListInsight } from '../insights/session-list.ts';
import type { Sources } from '../snapshot/question.ts';
import { type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { modelSite } from '../testing/owned-lanes.ts';
import { type ModelVisit, type VisitEvent, Visits } from '../testing/visits.ts';
import { Zones } from '../time/zone.ts';
import { aboutFacts } from './testing/any-filters.ts';
import { isSelected, type RequestedFilter } from './testing/evaluate.ts';
import { addFilteredTraffic, rowOfEvent } from './testing/visit-scene.ts';

const NOW_MS = Date.parse('2026-10-25T12:34:56.789Z');
const FROM_MS = NOW_MS - 72 * HOUR_MS;
const seed = Number(process.env.SEED ?? 20_261_124);
const seeded = new SeededRandom(seed);
const visits = new Visits(2);
const scope = { site: modelSite('site'), zone: new Zones().of('UTC'), nowMs: NOW_MS };

let fixture: HistoryStore;
beforeAll(async () => {
  fixture = await startHistoryStore();
  await traffic(5);
});
afterAll(async () => {
  await fixture.stop();
});

/** Rounds of traffic: flushes known to be complete, some that only landed, one that did not, and open rows. */
async function traffic(rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    const steps = round < rounds - 2 ? 200 : 40;
    addFilteredTraffic(visits, seeded, { steps, fromMs: FROM_MS, toMs: NOW_MS });
    for (const lane of [0, 1]) {
      visits.cut(lane);
      if (round < rounds - 1 - lane) await visits.land(lane, fixture.store);
      if (round < rounds - 2) visits.complete(lane);
    }
  }
  addFilteredTraffic(visits, seeded, { steps: 30, fromMs: FROM_MS, toMs: NOW_MS });
}

const sourcesNow = (): Sources => ({ history: fixture.history, hot: visits.hotView() });
const parameterOf = (filters: readonly RequestedFilter[]) =>
  new URLSearchParams({ filters: JSON.stringify(filters) });

function expectedIds(filters: readonly RequestedFilter[]): string[] {
  const visitOf = new Map(visits.visits('site').map((visit) => [visit.id, visit]));
  return visits
    .events('site')
    .filter((event) => {
      const scene = {
        visit: visitOf.get(event.sessionId),
        event: rowOfEvent(event),
        profiles: [],
        groups: [],
      };
      return isSelected(filters, scene);
    })
    .map(({ id }) => id)
    .sort();
}

/** No question here includes profiles. */
const NO_PROFILES = {
  untilStored: () => Promise.reject(new Error('profiles are read')),
};

const idOf = ({ id }: { readonly id: string }) => id.replace(/^0+/, '');

async function exported(filters: readonly RequestedFilter[], sources = sourcesNow()): Promise<string[]> {
  const ids: string[] = [];
  for (let page = 1; ; page += 1) {
    const query = readParameters(`${parameterOf(filters)}&limit=1000&page=${page}`, exportQuery);
    const { data, meta } = await answerExport({ ...sources, records: NO_PROFILES }, scope, query);
    ids.push(...data.map(idOf));
    if (page >= meta.pages) {
      expect(meta.totalCount).toBe(ids.length);
      return ids.sort();
    }
  }
}

async function streamed(
  filters: readonly RequestedFilter[],
  rowsPerPart: number,
  { sources, site }: { readonly sources: Sources; readonly site: string } = {
    sources: sourcesNow(),
    site: 'site',
  },
): Promise<string[]> {
  const form = must(STREAM_FORMS[0], 'a form');
  const query = readParameters(parameterOf(filters).toString(), streamQuery);
  const { chunks } = await streamExport(
    { ...sources, records: NO_PROFILES },
    { ...scope, site: modelSite(site) },
    query,
    form,
    rowsPerPart,
  );
  const bytes: Buffer[] = [];
  for await (const chunk of chunks) bytes.push(Buffer.from(chunk));
  const lines = Buffer.concat(bytes).toString('utf8').trim().split('\n');
  return lines.flatMap((line) => (line === '' ? [] : idOf(JSON.parse(line)))).sort();
}

test('an export has the events whose session passes in its current state, on pages and in streams', async () => {
  const all = visits.events('site').length;
  let cut = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(aboutFacts, { minLength: 1, maxLength: 2 }), async (filters) => {
      const wanted = expectedIds(filters);
      expect(await exported(filters), `seed ${seed}`).toEqual(wanted);
      expect(await streamed(filters, 1_000_000), `seed ${seed}`).toEqual(wanted);
      // In parts of an hour or so, of which many hold no hot event of a session that has one elsewhere.
      expect(await streamed(filters, 60), `seed ${seed}`).toEqual(wanted);
      if (wanted.length > 0 && wanted.length < all) cut += 1;
    }),
    { numRuns: 8, seed },
  );
  expect(cut).toBeGreaterThan(3);
});

test('a filter and its opposite divide the events of sessions, and leave those without', async () => {
  for (const [name, value] of [
    ['isBounce', true],
    ['entryPath', '/'],
    ['screenViews', 1],
    ['duration', 0],
  ] as const) {
    const one = await exported([{ name, operator: 'is', value: [value] }]);
    const other = await exported([{ name, operator: 'isNot', value: [value] }]);
    const inSessions = visits.events('site').filter(({ sessionId }) => sessionId !== '');
    expect([...one, ...other].sort()).toEqual(inSessions.map(({ id }) => id).sort());
    expect(one.length * other.length).toBeGreaterThan(0);
  }
});

test('the events that pass are those of the sessions that the list shows', async () => {
  const { answer, schema } = sessionListInsight(sourcesNow());
  for (const [filters] of fc.sample(fc.tuple(fc.array(aboutFacts, { minLength: 1, maxLength: 2 })), {
    numRuns: 8,
    seed,
  })) {
    const text = `${parameterOf(filters)}&startDate=2026-10-01&endDate=2026-10-31&limit=1000`;
    const listed = (await answer(scope, readParameters(text, schema))) as readonly { readonly id: string }[];
    const ids = new Set(listed.map(idOf));
    const events = visits.events('site').filter(({ sessionId }) => ids.has(sessionId.replace(/^0+/, '')));
    expect(await exported(filters), `seed ${seed}`).toEqual(events.map(({ id }) => id).sort());
  }
});

test('exports are the same whatever lands or merges between the reads', async () => {
  for (let round = 0; round < 3; round += 1) {
    addFilteredTraffic(visits, seeded, { steps: 60, fromMs: FROM_MS, toMs: NOW_MS });
    for (const lane of [0, 1]) if (seeded.chance(0.7)) visits.cut(lane);
    const [filters = []] = fc.sample(fc.array(aboutFacts, { minLength: 1, maxLength: 2 }), {
      numRuns: 1,
      seed: seed + round,
    });
    const before = expectedIds(filters);
    // The hot rows are fetched before anything lands, and used again afterwards.
    const rows = await visits.hotView().rows(storedId('site'));
    const early = {
      history: fixture.history,
      hot: Object.assign(visits.hotView(), { rows: async () => rows }),
    };
    expect(await exported(filters, early), `seed ${seed}`).toEqual(before);
    for (const lane of [0, 1]) {
      await visits.land(lane, fixture.store);
      expect(await exported(filters, early), `seed ${seed}`).toEqual(before);
      if (seeded.chance(0.5)) visits.complete(lane);
    }
    await fixture.store.command('OPTIMIZE TABLE sessions FINAL');
    expect(await exported(filters, early), `seed ${seed}`).toEqual(before);
    expect(await exported(filters), `seed ${seed}`).toEqual(before);
  }
});

test('a session is judged by its current state, not by an earlier one that is still in the store', async () => {
  const own = new Visits(3);
  const visit: ModelVisit = {
    id: 'a7',
    projectId: 'own',
    deviceId: 'd',
    profileId: '',
    startedAtMs: NOW_MS - 4 * HOUR_MS,
    endedAtMs: NOW_MS - 2 * HOUR_MS,
    touchedAtMs: NOW_MS - 2 * HOUR_MS,
    screenViews: 1,
    revenue: new Map(),
    texts: { entryPath: '/in', exitPath: '/in' },
  };
  const event = (id: string, atMs: number, columns: Partial<VisitEvent> = {}): VisitEvent => ({
    ...{ id, sessionId: 'a7', projectId: 'own', deviceId: 'd', profileId: '', name: 'screen_view', atMs },
    ...{ origin: '', path: '/', title: '', revenue: 0n, currency: '', ...columns },
  });
  const ids = async (name: string, value: string | number | boolean, operator = 'is') => {
    const query = readParameters(parameterOf([{ name, operator, value: [value] }]).toString(), exportQuery);
    const sources = { history: fixture.history, hot: own.hotView(), records: NO_PROFILES };
    const { data } = await answerExport(sources, { ...scope, site: modelSite('own') }, query);
    return data.map(idOf);
  };
  own.put(2, visit);
  own.add(2, event('1', visit.endedAtMs));
  for (const id of ['2', '4', '5', '6'])
    own.add(2, event(id, NOW_MS - 6 * HOUR_MS, { sessionId: '', deviceId: '' }));
  own.cut(2);
  await own.land(2, fixture.store);
  own.complete(2);
  expect(await ids('isBounce', true)).toEqual(['1']);
  expect(await ids('is_bounce', false, 'isNot')).toEqual(['1']);
  // The second view is hot, and the first is in the store, with the state of the session as it was then.
  own.put(2, {
    ...visit,
    endedAtMs: NOW_MS - HOUR_MS,
    touchedAtMs: NOW_MS - HOUR_MS,
    screenViews: 2,
    texts: { entryPath: '/in', exitPath: '/out' },
  });
  own.add(2, event('3', NOW_MS - HOUR_MS));
  for (let state = 0; state < 3; state += 1) {
    expect(await ids('isBounce', true)).toEqual([]);
    expect(await ids('isBounce', false)).toEqual(['3', '1']);
    expect(await ids('exitPath', '/out')).toEqual(['3', '1']);
    expect(await ids('duration', 3 * 3_600)).toEqual(['3', '1']);
    expect(await ids('screen_views', 2, 'gte')).toEqual(['3', '1']);
    expect(await ids('exit_path', '/in')).toEqual([]);
    // In a stream, the hour of the first view is a part without hot events.
    const filters = [{ name: 'isBounce', operator: 'is', value: [false] }];
    const sources = { history: fixture.history, hot: own.hotView() };
    expect(await streamed(filters, 1, { sources, site: 'own' })).toEqual(['1', '3']);
    if (state === 0) own.cut(2);
    if (state === 1) {
      await own.land(2, fixture.store);
      own.complete(2);
    }
  }
});
