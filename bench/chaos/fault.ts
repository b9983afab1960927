import type { SeededRandom } from '../../ingest/testing/random.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { Ground, Powers } from './ground.ts';

/** Something that goes wrong. `happen` returns once it is over, and fails when it did not go wrong. */
export interface ChaosFault {
  readonly name: string;
  /** The power over the machine that it needs, which not every machine grants. */
  readonly needs?: keyof Powers;
  /** True if it is quick and shows a law of its own, so `npm test` runs it; `npm run test:long` runs every fault. */
  readonly isInTest?: boolean;
  /** Maximum number of occurrences in one run. */
  readonly timesMax?: number;
  /** The ground has everything that the fault needs. */
  happen(ground: Ground): Promise<void>;
}

/** Kills a process of a cluster, and makes sure of it. */
export async function kill(cluster: Cluster, name: string): Promise<void> {
  await cluster.kill(name);
  expectEnding(cluster.process(name).ending, 'SIGKILL');
}

/** Fails unless a process ended as it should. */
export function expectEnding(ending: string, expected: string): void {
  if (ending !== expected) throw new Error(`a process ended with ${ending}, expected ${expected}`);
}

/** Two of three, in an order that the seed decides. */
export function pairOf<Value>(
  values: readonly [Value, Value, Value],
  random: SeededRandom,
): readonly [Value, Value] {
  const left = random.below(3);
  const [first, second] = values.filter((_, index) => index !== left);
  return [first ?? values[0], second ?? values[1]];
}
