import type { Bus } from '../../infra/bus/bus.ts';
import { systemClock } from '../../infra/clock.ts';
import { createLogger } from '../../infra/log.ts';
import { Metrics } from '../../infra/metrics.ts';
import { ServiceLanes } from '../../infra/process/service-lanes.ts';
import { HotView } from '../snapshot/hot-view.ts';

/** A new hot view, which has fetched nothing yet, over owners that `ask` reaches without a bus. */
export function hotViewOver(ask: Bus['ask'], lanes: number): HotView {
  const log = createLogger('test', 'silent');
  return new HotView({
    bus: { ask },
    lanes: ServiceLanes.fixed(lanes),
    laneWaitMaxMs: 3_000,
    clock: systemClock,
    metrics: new Metrics(),
    log,
  });
}
