import { expect, test } from 'vitest';
import type { StatementRunner } from '../snapshot/history.ts';
import { NO_SEAM } from '../snapshot/seam.ts';
import { AnswerCaches } from './answer-caches.ts';

const HOUR_MS = 3_600_000;

test('of a site with a retention, what is cached is loaded again every hour', async () => {
  const caches = new AnswerCaches();
  let loaded = 0;
  const history: StatementRunner = {
    ask: async ({ name }) => {
      if (name === 'active-users-finalized') loaded += 1;
      return [];
    },
  };
  const statement = (name: string) => ({ name, parameters: { site: 'shop' } });
  const ask = async (nowMs: number) => {
    caches.evictRemoved('shop', nowMs);
    const parts = {
      key: 'shop 1',
      finalized: statement('active-users-finalized'),
      rows: statement('metrics-events-rows'),
      members: statement('active-users-members'),
    };
    await caches.visits.ask(history, parts, { edges: [0], windowMax: 30 }, NO_SEAM);
    return loaded;
  };
  expect(await ask(10 * HOUR_MS)).toBe(1);
  expect(await ask(11 * HOUR_MS - 1)).toBe(1);
  expect(await ask(11 * HOUR_MS)).toBe(2);
  expect(await ask(11 * HOUR_MS)).toBe(2);
});
