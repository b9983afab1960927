import { expect, test } from 'vitest';
import { readConfig } from '../config.ts';
import { storedId } from '../testing/ids.ts';
import { neededShardAddresses, PerShard, shardAddresses } from './store-shards.ts';

const shardsOf = (env: Readonly<Record<string, string>>) => shardAddresses(readConfig(env));

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
  expect(() => neededShardAddresses(readConfig({}))).toThrow(/^CLICKHOUSE_URL: this process needs a store/);
});

test('a site has the shard of its lanes, and each shard has sites', () => {
  const three = new PerShard(['a', 'b', 'c']);
  expect([0, 1, 2, 3, 4].map((lane) => three.ofLane(lane))).toEqual(['a', 'b', 'c', 'a', 'b']);
  const sites = Array.from({ length: 64 }, (_, index) => three.ofSite(storedId(`site-${index}`)));
  expect([...new Set(sites)].sort()).toEqual(['a', 'b', 'c']);
  expect(new PerShard(['only']).ofSite(storedId('site'))).toBe('only');
});
