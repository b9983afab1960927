import { expect, test } from 'vitest';
import { HOUR_MS } from '../../infra/durations.ts';
import { storedId } from '../../infra/testing/ids.ts';
import type { StatementRunner } from '../snapshot/history.ts';
import { NO_SEAM } from '../snapshot/seam.ts';
import { AnswerCaches } from './answer-caches.ts';
import type { VisitParts } from './question-parts.ts';

test('of a site with a retention, what is cached is loaded again every hour', async () => {
  const caches = new AnswerCaches();
  let loaded = 0;
  const history: StatementRunner = {
    ask: async ({ name }) => {
      if (name === 'active-users-finalized') loaded += 1;
      return [];
    },
  };
  const parameters = { site: storedId('shop') };
  const ask = async (nowMs: number) => {
    caches.evictRemoved(storedId('shop'), nowMs);
    const parts: VisitParts = {
      key: 'shop 1',
      finalized: { name: 'active-users-finalized', parameters },
      rows: { name: 'metrics-events-rows', parameters },
      members: { name: 'active-users-members', parameters },
    };
    await caches.visits.ask(history, parts, { edges: [0], windowMax: 30 }, NO_SEAM);
    return loaded;
  };
  // The second question loads it.
  const times = [10, 10, 10.99, 11, 11, 11.1].map((hours) => hours * HOUR_MS);
  const loads: number[] = [];
  for (const nowMs of times) loads.push(await ask(nowMs));
  expect(loads).toEqual([0, 1, 1, 1, 2, 2]);
});

test('caches of answers can have any size that the settings allow', () => {
  for (let megabytes = 1; megabytes <= 40; megabytes += 1)
    expect(() => new AnswerCaches(megabytes * 1_000_000)).not.toThrow();
});
