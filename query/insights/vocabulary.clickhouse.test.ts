import { afterAll, beforeAll, expect, test } from 'vitest';
import { DAY_MS } from '../../infra/durations.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import type { Insight } from '../http/endpoint.ts';
import { readParameters } from '../http/parameters.ts';
import type { Sources } from '../snapshot/question.ts';
import { FLUSHES, type FlushedEvent, FlushedEvents } from '../testing/flushed-events.ts';
import { type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { modelSite } from '../testing/owned-lanes.ts';
import { Zones } from '../time/zone.ts';
import { eventNamesInsight, propertyKeysInsight, propertyValuesInsight } from './vocabulary.ts';
import { namesAnswer, propertyValuesAnswer } from './vocabulary-api.ts';

const NOW_MS = Date.parse('2026-05-09T12:00:00Z');
const FROM_MS = Date.parse('2026-05-03T00:00:00Z');
const TO_MS = Date.parse('2026-05-10T00:00:00Z');
const zone = new Zones().of('UTC');

let fixture: HistoryStore;
const model = new FlushedEvents(new SeededRandom(77), {
  events: 500,
  fromMs: FROM_MS - DAY_MS,
  toMs: TO_MS,
});
beforeAll(async () => {
  fixture = await startHistoryStore();
});
afterAll(async () => {
  await fixture.stop();
});

function ask<Parameters>(make: (sources: Sources) => Insight<Parameters>, query: string, known: number) {
  const { schema, answer } = make({ history: fixture.history, hot: model.hotView(known) });
  return answer({ site: modelSite('site'), zone, nowMs: NOW_MS }, readParameters(query, schema));
}

/** Words of the events in the range, by count and then by the bytes of the word. */
function counted(wordsOf: (event: FlushedEvent) => Iterable<string>): (readonly [string, number])[] {
  const counts = new Map<string, number>();
  for (const event of model.ours) {
    if (event.atMs < FROM_MS || event.atMs >= TO_MS) continue;
    for (const word of wordsOf(event)) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return [...counts].sort(
    ([a, aCount], [b, bCount]) => bCount - aCount || Buffer.compare(bytes(a), bytes(b)),
  );
}

function bytes(text: string): Buffer {
  return Buffer.from(text);
}

function isReal({ name }: FlushedEvent): boolean {
  return name !== 'session_start' && name !== 'session_end';
}

function keysOf({ properties }: FlushedEvent): Set<string> {
  return new Set(properties.filter((_, index) => index % 2 === 0));
}

function valuesOf({ properties }: FlushedEvent, property: string): readonly string[] {
  const index = properties.findIndex((text, place) => place % 2 === 0 && text === property);
  return index === -1 ? [] : [properties[index + 1] ?? ''];
}

test('names, keys and values count each event once, whether it is hot, stored, or both', async () => {
  const names = counted(({ name }) => [name]).map(([name, count]) => ({ name, count }));
  const keys = counted((event) => (isReal(event) ? keysOf(event) : [])).map(([name, count]) => ({
    name,
    count,
  }));
  const plans = counted((event) => (isReal(event) ? valuesOf(event, 'plan') : []));
  const values = plans.map(([value, count]) => ({ value, count }));
  expect([names.length, keys.length, values.length]).toEqual([5, 4, 5]);
  for (let stored = 0; stored <= FLUSHES; stored += 1) {
    if (stored > 0) await model.land(fixture.store, stored);
    for (let known = 0; known <= stored; known += 1) {
      expect(await ask(eventNamesInsight, '', known)).toEqual(names);
      expect(await ask(propertyKeysInsight, '', known)).toEqual(keys);
      expect(await ask(propertyValuesInsight, 'property=plan', known)).toEqual(values);
    }
  }
  expect(namesAnswer.safeParse(keys).success && propertyValuesAnswer.safeParse(values).success).toBe(true);
});

test('with event names, keys and values come from those events alone', async () => {
  const ofClicks = counted((event) => (event.name === 'click' ? keysOf(event) : []));
  expect(await ask(propertyKeysInsight, 'event=click', 2)).toEqual(
    ofClicks.map(([name, count]) => ({ name, count })),
  );
  const ofStarts = counted((event) => (event.name === 'session_start' ? valuesOf(event, 'ключ') : []));
  expect(ofStarts.length).toBeGreaterThan(0);
  const property = encodeURIComponent('ключ');
  expect(await ask(propertyValuesInsight, `event=session_start&property=${property}`, 2)).toEqual(
    ofStarts.map(([value, count]) => ({ value, count })),
  );
  expect(await ask(propertyValuesInsight, "property=nobody's", 2)).toEqual([]);
});

test('pages hold every word once and in order', async () => {
  const all = await ask(eventNamesInsight, '', 1);
  const first = await ask(eventNamesInsight, 'limit=3', 1);
  const second = await ask(eventNamesInsight, 'limit=3&cursor=3', 1);
  expect([first, second].flat()).toEqual(all);
  expect(await ask(eventNamesInsight, 'limit=3&cursor=6', 1)).toEqual([]);
});

test.each(['', 'event=click', 'property=a&property=b'])(
  'values without exactly one property are rejected: ?%s',
  async (query) => {
    const error = await Promise.resolve()
      .then(() => ask(propertyValuesInsight, query, 0))
      .catch((cause: unknown) => cause);
    expect(error).toMatchObject({ status: 400, message: expect.stringMatching(/^property: /) });
  },
);
