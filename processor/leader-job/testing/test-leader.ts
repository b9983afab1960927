import { systemClock } from '../../../infra/clock.ts';
import { createLogger } from '../../../infra/log.ts';
import { Metrics } from '../../../infra/metrics.ts';
import type { LeaderDeps } from '../leader-job.ts';
import { createLeaderJobMetrics, type LeaderJobName } from '../leader-job-metrics.ts';

/** A process that always leads, for tests that run one job. */
export function testLeader(name: LeaderJobName): LeaderDeps {
  return {
    isLeader: () => true,
    clock: systemClock,
    random: Math.random,
    log: createLogger(`${name}-test`, 'silent'),
    jobMetrics: createLeaderJobMetrics(new Metrics(), name),
  };
}
