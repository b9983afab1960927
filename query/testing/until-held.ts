import type { Metrics } from '../../infra/metrics.ts';

const HELD_MAX_MS = 120_000;

/** The value of a metric, by its name and labels as exposed; 0 for one that does not exist yet. */
export function metricOf(metrics: Metrics, name: string): number {
  const line = metrics
    .expose()
    .split('\n')
    .find((each) => each.startsWith(`${name} `));
  return Number(line?.slice(name.length) ?? 0);
}

/** Repeats a question until rows of a site are in memory. `metrics` belong to the history that it asks. */
export async function untilHeld(metrics: Metrics, ask: () => Promise<unknown>): Promise<void> {
  const endMs = Date.now() + HELD_MAX_MS;
  while (metricOf(metrics, 'query_held_sites') === 0) {
    if (Date.now() > endMs) throw new Error('no rows were read into memory');
    await ask();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
