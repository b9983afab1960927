import { waitFor } from '../cluster/child-process.ts';
import type { Cluster } from '../cluster/cluster.ts';

const WAIT_MAX_MS = 120_000;

/** Waits until these processors together own this many lanes. A processor without an answer counts as none. */
export async function untilAnswering(
  cluster: Cluster,
  processors: readonly string[],
  lanes: number,
  maxMs = WAIT_MAX_MS,
): Promise<void> {
  const answering = async (name: string) => (await cluster.processorHealth(name)).answering;
  const all = async () => {
    const counts = await Promise.all(processors.map((name) => answering(name).catch(() => 0)));
    return counts.reduce((sum, count) => sum + count, 0) === lanes;
  };
  await waitFor(`${lanes} lanes answer`, all, maxMs);
}
