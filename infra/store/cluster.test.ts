import { expect, test } from 'vitest';
import { acceptCluster, type ClusterFacts, clusterProblem } from './cluster.ts';

const FACTS: ClusterFacts = { replicas: 3, shards: 1, macros: ['replica', 'shard', 'layer'] };

test.each<[Partial<ClusterFacts>, string | undefined]>([
  [{}, undefined],
  [{ replicas: 2 }, undefined],
  [{ replicas: 1 }, 'has one replica'],
  [{ replicas: 0, shards: 0 }, 'knows no cluster of this name'],
  [{ replicas: 4, shards: 2 }, 'has 2 shards, and footfall needs one'],
  [{ macros: ['shard'] }, 'has no macro replica'],
  [{ macros: [] }, 'has no macro shard and no macro replica'],
])('a cluster with %j: %s', (facts, problem) => {
  const found = clusterProblem({ ...FACTS, ...facts }, 'ours');
  if (problem === undefined) expect(found).toBeUndefined();
  else expect(found).toContain(problem);
});

test('a cluster that cannot be used is fatal at the start, and a single server is not asked', async () => {
  const asked: unknown[] = [];
  const store = {
    query: async <Row>(_sql: string, parameters: unknown) => {
      asked.push(parameters);
      return [{ ...FACTS, shards: 2 }] as Row[];
    },
  };
  await acceptCluster(store, '');
  expect(asked).toEqual([]);
  await expect(acceptCluster(store, 'ours')).rejects.toMatchObject({ kind: 'fatal' });
  expect(asked).toEqual([{ cluster: 'ours' }]);
});
