import type { SeededRandom } from '../../ingest/testing/random.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { Ground, Powers } from './ground.ts';

/** Something that goes wrong. `happen` returns once it is over, and fails when it did not go wrong. */
export interface ChaosFault {
  readonly name: string;
  /** What it changes that not every machine lets a program change. */
  readonly needs?: keyof Powers;
  /** Whether it is quick, and shows a law of its own, so that `npm test` has it; `npm run test:long` has every fault. */
  readonly isInTest?: boolean;
  /** How often it may happen in one run. */
  readonly timesMax?: number;
  /** The ground has what the fault needs. */
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
