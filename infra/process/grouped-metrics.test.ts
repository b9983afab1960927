import { expect, test } from 'vitest';
import { Metrics } from '../metrics.ts';
import { groupedMetrics } from './grouped-metrics.ts';

function metricsOf(count: number, extra: string): string {
  const metrics = new Metrics();
  metrics.counter('things_total', 'Things.').add(count);
  metrics.counter('rejects_total', 'Rejects.', { reason: 'a' }).add(count + 1);
  metrics.gauge(extra, 'Only here.').set(7);
  return metrics.expose();
}

test('the metrics of a group are one text, with a family in one piece and the process as a label', () => {
  const text = groupedMetrics([
    { name: 'http-1', text: metricsOf(1, 'one') },
    { name: 'http-2', text: metricsOf(3, 'two') },
    { name: 'http-3', text: undefined },
  ]);
  expect(text).toBe(`# HELP process_up 1 for each process whose metrics are here
# TYPE process_up gauge
process_up{process="http-1"} 1
process_up{process="http-2"} 1
process_up{process="http-3"} 0
# HELP things_total Things.
# TYPE things_total counter
things_total{process="http-1"} 1
things_total{process="http-2"} 3
# HELP rejects_total Rejects.
# TYPE rejects_total counter
rejects_total{process="http-1",reason="a"} 2
rejects_total{process="http-2",reason="a"} 4
# HELP one Only here.
# TYPE one gauge
one{process="http-1"} 7
# HELP two Only here.
# TYPE two gauge
two{process="http-2"} 7
`);
});
