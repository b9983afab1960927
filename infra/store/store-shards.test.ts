import { expect, test } from 'vitest';
import { readConfig } from '../config.ts';
import { StoreError } from './store-error.ts';
import { comparePlace, neededStoreShards, PerShard, storeShards } from './store-shards.ts';

const shardsOf = (env: Readonly<Record<string, string>>) => storeShards(readConfig(env));

test('CLICKHOUSE_URL lists the shards, each with its user for questions and its cluster', () => {
  expect(shardsOf({})).toEqual([]);
  const one = { url: 'http://a:1', queryUrl: 'http://a:1', database: 'footfall', cluster: '' };
  expect(shardsOf({ CLICKHOUSE_URL: 'http://a:1' })).toEqual([one]);
  expect(
    shardsOf({
      CLICKHOUSE_URL: 'http://a:1, http://b:1',
      CLICKHOUSE_QUERY_URL: 'http://q@a:1,http://q@b:1',
      STORE_CLUSTER: 'first,second',
      CLICKHOUSE_DATABASE: 'web',
    }),
  ).toEqual([
    { url: 'http://a:1', queryUrl: 'http://q@a:1', database: 'web', cluster: 'first' },
    { url: 'http://b:1', queryUrl: 'http://q@b:1', database: 'web', cluster: 'second' },
  ]);
});

test.each([
  ['CLICKHOUSE_QUERY_URL', { CLICKHOUSE_QUERY_URL: 'http://q@a:1' }],
  ['STORE_CLUSTER', { STORE_CLUSTER: 'one,two,three' }],
])('%s lists as many as CLICKHOUSE_URL, or none', (setting, env) => {
  expect(() => shardsOf({ CLICKHOUSE_URL: 'http://a:1,http://b:1', ...env })).toThrow(
    new RegExp(`^${setting} lists \\d and CLICKHOUSE_URL 2: both list one for each shard`),
  );
});

test('a process that needs a store says so', () => {
  expect(() => neededStoreShards(readConfig({}))).toThrow(/^CLICKHOUSE_URL: this process needs a store/);
});

test('a site has the shard of its lanes, and each shard has sites', () => {
  const three = new PerShard(['a', 'b', 'c']);
  expect([0, 1, 2, 3, 4].map((lane) => three.ofLane(lane))).toEqual(['a', 'b', 'c', 'a', 'b']);
  const sites = Array.from({ length: 64 }, (_, index) => three.ofSite(`site-${index}`));
  expect([...new Set(sites)].sort()).toEqual(['a', 'b', 'c']);
  expect(new PerShard(['only']).ofSite('site')).toBe('only');
});

test.each([
  ['a store that was never divided', undefined, { shard: 0, shards: 1 }, true, undefined],
  ['a shard that no processor has seen', undefined, { shard: 1, shards: 2 }, false, undefined],
  ['the right shard', { shard: 1, shards: 2 }, { shard: 1, shards: 2 }, true, undefined],
  [
    'another shard',
    { shard: 0, shards: 2 },
    { shard: 1, shards: 2 },
    false,
    'server 2 of 2 is shard 1 of the 2',
  ],
  [
    'a store of other shards',
    { shard: 0, shards: 3 },
    { shard: 0, shards: 2 },
    false,
    'server 1 of 2 is shard 1 of the 3',
  ],
])('%s is told apart', async (_, found, place, isOurs, problem) => {
  const query = async () => {
    if (found !== undefined) return [found];
    throw new StoreError('Unknown table', { kind: 'fatal', failure: 'server', code: 60 });
  };
  const compared = await comparePlace({ query: query as never }, place);
  expect(compared.isOurs).toBe(isOurs);
  if (problem === undefined) expect(compared.problem).toBeUndefined();
  else expect(compared.problem).toContain(problem);
});
