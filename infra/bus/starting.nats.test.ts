import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLogger } from '../log.ts';
import { type NatsCluster, startNatsCluster } from '../testing/nats-cluster.ts';
import { Bus } from './bus.ts';

const log = createLogger('test', 'silent');
const PROCESSES = 6;

let cluster: NatsCluster;

beforeAll(async () => {
  cluster = await startNatsCluster();
});
afterAll(() => cluster.stop());

test('processes that start at once on an empty cluster make the same buckets and streams', async () => {
  const buses = await Promise.all(
    Array.from({ length: PROCESSES }, (_, index) =>
      Bus.connect({ url: cluster.url, name: `starting-${index}`, replicas: 3 }, log),
    ),
  );
  for (const name of ['one', 'two', 'three']) {
    const made = await Promise.all(
      buses.flatMap((bus, index) => [
        bus.ensureStream(name, name, 1_048_576),
        bus.keyed(name, { storage: 'file', erases: index % 2 === 0 }),
      ]),
    );
    expect(made).toHaveLength(2 * PROCESSES);
  }
  await Promise.all(buses.map((bus) => bus.close()));
}, 120_000);
