import { expect, test } from 'vitest';
import type { StatementRunner } from '../snapshot/history.ts';
import { NO_SEAM } from '../snapshot/seam.ts';
import { ROW_HASHES_MAX } from '../sql/rollup-texts.ts';
import { type RankingQuestion, SessionRankings } from './session-rankings.ts';

/** More than half of the visitors that a question may have in its rows. */
const VISITORS = ROW_HASHES_MAX * 0.6;
const SUMS = { prefix: '', name: 'search', pageviews: 0, bounces: 0, durationMs: 0, revenue: '0' };
const hashes = Array.from({ length: VISITORS }, (_, index) => index);

test('a ranking stays cached when most of the visitors of its rows are known from the question before', async () => {
  const asked: string[] = [];
  const answers: Readonly<Record<string, object>> = {
    'ranking-rollup': { ...SUMS, sessions: 1_000_000 },
    'ranking-rows': { ...SUMS, sessions: VISITORS, visitorHashes: hashes },
    // One in two was there before.
    'ranking-visitors-rollup': { ...SUMS, visitors: 500_000, found: hashes.filter((hash) => hash % 2 === 0) },
  };
  const history = {
    ask: async ({ name }: { readonly name: string }) => {
      asked.push(name);
      return [answers[name]];
    },
  } as unknown as StatementRunner;
  const rankings = new SessionRankings(50_000_000, 0);
  const question = {
    parameters: { site: 'site', currency: 'EUR', limit: 10, offset: 0 },
    texts: { columns: 'a, b', rollupTable: 'daily_sources' },
    filters: [],
  } as unknown as RankingQuestion;
  for (let time = 0; time < 3; time += 1) {
    const rows = await rankings.ask(history, question, NO_SEAM);
    expect(rows).toEqual([{ ...SUMS, sessions: 1_000_000 + VISITORS, visitors: 500_000 + VISITORS / 2 }]);
  }
  expect(asked.filter((name) => name === 'ranking-rollup')).toHaveLength(1);
  expect(asked.filter((name) => name === 'ranking-visitors-rollup')).toHaveLength(1);
});
