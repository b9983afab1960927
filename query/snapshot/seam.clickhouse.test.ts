import { afterEach, beforeEach, expect, test } from 'vitest';
import { storedId } from '../../infra/testing/ids.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { exportQuery } from '../api.ts';
import { answerExport } from '../export/events.ts';
import { metricsOf } from '../figures.ts';
import { readParameters } from '../http/parameters.ts';
import { historyFigures } from '../insights/metrics.ts';
import { type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { addTraffic } from '../testing/model-traffic.ts';
import { modelSite, OwnedLanes } from '../testing/owned-lanes.ts';
import { recount } from '../testing/recount.ts';
import { ownerOfProfiles } from '../testing/stored-profiles.ts';
import { rangeOf } from '../time/range.ts';
import { Zones } from '../time/zone.ts';
import { type Seam, seamOf } from './seam.ts';

const zone = new Zones().of('Asia/Kolkata');
const FROM_MS = Date.parse('2026-05-01T00:00:00Z');
const TO_MS = Date.parse('2026-05-05T00:00:00Z');
const ROUNDS = 3;
const READERS = 2;

let store: HistoryStore;
beforeEach(async () => {
  store = await startHistoryStore();
});
afterEach(async () => {
  await store.stop();
});

function customRange() {
  const range = rangeOf({ startDate: '2026-05-03', endDate: '2026-05-04' }, TO_MS, zone);
  if ('kind' in range) throw new Error(range.message);
  return range;
}

/** Repeats `step` until `until` has resolved. */
async function meanwhile(until: Promise<unknown>, step: () => Promise<unknown>): Promise<number> {
  let done = false;
  const end = until.finally(() => {
    done = true;
  });
  let steps = 0;
  while (!done) {
    await step();
    steps += 1;
  }
  await end;
  return steps;
}

test('law 4: history and hot rows hold every event and session once, whatever lands or merges between the two reads', async () => {
  const seed = Number(process.env.SEED ?? 20_261_121);
  const seeded = new SeededRandom(seed);
  const lanes = new OwnedLanes(2);
  const range = customRange();
  const question = { projectId: storedId('site'), filters: [], range };
  let reads = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    for (let cuts = 0; cuts < 3; cuts += 1) {
      addTraffic(lanes, seeded, { events: 120, fromMs: FROM_MS, toMs: TO_MS });
      for (const owner of lanes.owners) owner.cut();
    }
    addTraffic(lanes, seeded, { events: 50, fromMs: FROM_MS, toMs: TO_MS });
    const sessions = lanes.owners.flatMap((owner) => owner.sessions());
    const ours = sessions.filter(({ projectId }) => projectId === 'site');
    const expected = recount(range, lanes.events('site'), ours, 'EUR');
    // Hot views before, between and after the flushes. Each must stay right for ever.
    const seams: Seam[] = [seamOf(await lanes.hotView().rows(storedId('site')))];
    const landing = Promise.all(
      lanes.owners.map(async (owner) => {
        for (const flush of [...owner.pending]) {
          await store.land(owner, flush);
          owner.complete();
          seams.push(seamOf(await lanes.hotView().rows(storedId('site'))));
        }
      }),
    );
    const merging = meanwhile(landing, () => store.store.command('OPTIMIZE TABLE sessions FINAL'));
    const readers = Array.from({ length: READERS }, (_, reader) =>
      meanwhile(landing, async () => {
        const seam = reader === 0 ? seams[0] : seams[seeded.below(seams.length)];
        if (seam === undefined) return;
        const figures = await historyFigures(store.history, question, seam);
        expect(metricsOf(figures.current, 'EUR'), `seed ${seed}`).toEqual(expected.metrics);
        expect(metricsOf(figures.previous, 'EUR'), `seed ${seed}`).toEqual(expected.previous);
      }),
    );
    for (const count of await Promise.all([merging, ...readers])) {
      expect(count).toBeGreaterThan(0);
      reads += count;
    }
    for (const seam of seams) {
      const figures = await historyFigures(store.history, question, seam);
      expect(metricsOf(figures.current, 'EUR'), `seed ${seed}`).toEqual(expected.metrics);
      expect(
        figures.buckets.map((bucket, index) => ({
          date: range.buckets[index]?.label,
          ...metricsOf(bucket, 'EUR'),
        })),
      ).toEqual(expected.series);
    }
  }
  expect(reads).toBeGreaterThan(ROUNDS * READERS);
});

test('every page and the count of an export are of one state, while flushes land', async () => {
  const seeded = new SeededRandom(7);
  const lanes = new OwnedLanes(2);
  addTraffic(lanes, seeded, { events: 700, fromMs: FROM_MS, toMs: TO_MS });
  for (const owner of lanes.owners) owner.cut();
  addTraffic(lanes, seeded, { events: 100, fromMs: FROM_MS, toMs: TO_MS });
  const expected = lanes
    .events('site')
    .sort((a, b) => b.atMs - a.atMs || (a.id.padStart(32, '0') < b.id.padStart(32, '0') ? -1 : 1))
    .map(({ id }) => id.padStart(32, '0'));
  const scope = { site: modelSite('site'), zone, nowMs: TO_MS };
  const readAll = async () => {
    const ids: string[] = [];
    for (let page = 1, pages = 1; page <= pages; page += 1) {
      const query = readParameters(`page=${page}&limit=97`, exportQuery);
      const sources = { history: store.history, hot: lanes.hotView(), records: ownerOfProfiles() };
      const answer = await answerExport(sources, scope, query);
      pages = answer.meta.pages;
      expect(answer.meta.totalCount).toBe(expected.length);
      expect(answer.meta.count).toBe(answer.data.length);
      ids.push(...answer.data.map(({ id }) => id));
    }
    expect(ids).toEqual(expected);
  };
  await readAll();
  const landing = (async () => {
    for (const owner of lanes.owners) {
      for (const flush of [...owner.pending]) {
        await store.land(owner, flush);
        owner.complete();
      }
    }
  })();
  await meanwhile(landing, readAll);
  await readAll();
});
