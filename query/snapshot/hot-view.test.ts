import { expect, test } from 'vitest';
import { systemClock } from '../../infra/clock.ts';
import { createLogger } from '../../infra/log.ts';
import { Metrics } from '../../infra/metrics.ts';
import { ServiceLanes } from '../../infra/process/service-lanes.ts';
import { GARBAGE } from '../../infra/testing/garbage.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { encodeHotAnswer } from '../../processor/hot.ts';
import { HotView } from './hot-view.ts';

const GOOD = encodeHotAnswer({ kind: 'live', visitors: 5, profiles: [] });

test('an owner whose answer cannot be read is away, counted and not asked again; the others count', async () => {
  for (const bytes of GARBAGE) {
    const metrics = new Metrics();
    let asked = 0;
    const ask = async (subject: string) => {
      asked += 1;
      return subject === 'hot.1' ? bytes : GOOD;
    };
    const log = createLogger('test', 'silent');
    const view = new HotView({
      bus: { ask },
      lanes: ServiceLanes.fixed(3),
      laneWaitMaxMs: 3_000,
      clock: systemClock,
      metrics,
      log,
    });
    const { answers, away } = await view.live(storedId('demo'));
    expect(away).toEqual([{ lane: 1, reason: 'unreadable' }]);
    expect(answers.map((answer) => answer?.head.kind)).toEqual(['live', undefined, 'live']);
    expect(asked).toBe(3);
    expect(metrics.expose()).toContain('query_hot_unreadable_answers_total 1');
  }
});
