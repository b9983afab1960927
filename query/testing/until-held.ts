import type { Metrics } from '../../infra/metrics.ts';
import { until } from '../../infra/testing/look-again.ts';

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
  await until('rows in memory', async () => {
    if (metricOf(metrics, 'query_held_sites') > 0) return true;
    await ask();
    return undefined;
  });
}
