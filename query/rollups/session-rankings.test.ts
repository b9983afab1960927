import { expect, test } from 'vitest';
import { storedId } from '../../infra/testing/ids.ts';
import type { StatementRunner } from '../snapshot/history.ts';
import { NO_SEAM } from '../snapshot/seam.ts';
import { ROW_HASHES_MAX } from '../sql/rollup-texts.ts';
import { CacheSpace } from './finalized-cache.ts';
import { type RankingQuestion, SessionRankings } from './session-rankings.ts';

type RankingParameters = RankingQuestion['parameters'];

/** More than half of the maximum number of visitors in rows. */
const VISITORS = ROW_HASHES_MAX * 0.6;
const SUMS = { prefix: '', name: 'search', pageviews: 0, bounces: 0, durationMs: 0, revenue: '0' };
const hashes = Array.from({ length: VISITORS }, (_, index) => index);

test('a ranking stays cached when most of the visitors of its rows are known from the question before', async () => {
  const asked: string[] = [];
  const answers: Readonly<Record<string, object>> = {
    'ranking-rollup': { ...SUMS, sessions: 1_000_000 },
    'ranking-rows': { ...SUMS, sessions: VISITORS, visitorHashes: hashes },
    // Every second one was there before.
    'ranking-visitors-rollup': { ...SUMS, visitors: 500_000, found: hashes.filter((hash) => hash % 2 === 0) },
  };
  const history = {
    ask: async ({ name }: { readonly name: string }) => {
      asked.push(name);
      return [answers[name]];
    },
  } as unknown as StatementRunner;
  const rankings = new SessionRankings(new CacheSpace(50_000_000), 0);
  const question = {
    parameters: { site: 'site', currency: 'EUR', limit: 10, offset: 0 },
    texts: { columns: 'a, b', rollupTable: 'daily_sources' },
    filters: [],
    recent: { hours: [], keys: [] },
  } as unknown as RankingQuestion;
  for (let time = 0; time < 3; time += 1) {
    const rows = await rankings.ask(history, question, NO_SEAM);
    expect(rows).toEqual([{ ...SUMS, sessions: 1_000_000 + VISITORS, visitors: 500_000 + VISITORS / 2 }]);
  }
  expect(asked.filter((name) => name === 'ranking-rollup')).toHaveLength(1);
  expect(asked.filter((name) => name === 'ranking-visitors-rollup')).toHaveLength(1);
});

test('what began in finalized hours that no day has yet is asked once, and counts each visitor once', async () => {
  const HOUR_S = 3_600;
  // One visitor came in both hours.
  const began = new Map([
    [0, { ...SUMS, sessions: 5, visitorHashes: [1, 2, 3] }],
    [HOUR_S, { ...SUMS, sessions: 2, visitorHashes: [3, 4] }],
  ]);
  const asked: (readonly number[])[] = [];
  const history = {
    ask: async ({ name, parameters }: { readonly name: string; readonly parameters: RankingParameters }) => {
      if (name === 'ranking-rollup') return [{ ...SUMS, sessions: 100 }];
      if (name === 'ranking-visitors-rollup') return [{ ...SUMS, visitors: 50, found: [1] }];
      asked.push(parameters.rowHours);
      return parameters.rowHours.flatMap((hour) => began.get(hour) ?? []);
    },
  } as unknown as StatementRunner;
  const space = new CacheSpace(50_000_000);
  const rankings = new SessionRankings(space, 0);
  const question = {
    parameters: { site: 'site', currency: 'EUR', limit: 10, offset: 0, rowHours: [0, HOUR_S] },
    texts: { columns: 'a, b', rollupTable: 'daily_sources' },
    filters: [],
    recent: { hours: [0], keys: [7n] },
  } as unknown as RankingQuestion;
  const expected = [{ ...SUMS, sessions: 107, visitors: 50 + 3 }];
  for (let time = 0; time < 2; time += 1)
    expect(await rankings.ask(history, question, NO_SEAM)).toEqual(expected);
  expect(asked).toEqual([[0], [HOUR_S], [HOUR_S]]);
  // A late change gives an hour another block.
  const changed = { ...question, recent: { hours: [0], keys: [8n] } };
  expect(await rankings.ask(history, changed, NO_SEAM)).toEqual(expected);
  space.evict(storedId('site'));
  expect(await rankings.ask(history, changed, NO_SEAM)).toEqual(expected);
  expect(asked.slice(3)).toEqual([[0], [HOUR_S], [0], [HOUR_S]]);
});
