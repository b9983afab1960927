import type { Counter, Gauge, Metrics } from '../../infra/metrics.ts';

export const LEADER_JOBS = ['rollup', 'purge', 'delivery', 'search-console'] as const;
export type LeaderJobName = (typeof LEADER_JOBS)[number];

export interface LeaderJobMetrics {
  readonly passes: Counter;
  readonly failures: Counter;
  /** A Unix time; 0 before the first success. */
  readonly lastSuccessSeconds: Gauge;
}

/** The label is `task`, because Prometheus has a label `job` of its own on everything that it scrapes. */
export function createLeaderJobMetrics(metrics: Metrics, task: LeaderJobName): LeaderJobMetrics {
  return {
    passes: metrics.counter('footfall_processor_job_passes_total', 'Passes of a job that succeeded.', {
      task,
    }),
    failures: metrics.counter(
      'footfall_processor_job_failures_total',
      'Passes of a job that failed and are repeated.',
      { task },
    ),
    lastSuccessSeconds: metrics.gauge(
      'footfall_processor_job_last_success_seconds',
      'When the last pass of a job succeeded in this process, as a Unix time. 0 before the first one.',
      { task },
    ),
  };
}
