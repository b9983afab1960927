import type { Bus } from '../infra/bus/bus.ts';
import { entityStreamOf, entitySubjectOf } from './entity-update.ts';
import { streamOf, subjectOf } from './event.ts';

/**
 * CONTRACT between collectors and processors, either of which may be the first to start on a bus: each lane has a stream of
 * events and one of entity updates. `bytesMax` (`BUS_BYTES_MAX`) is shared out among the lanes, so that a service needs the
 * same disk whatever their number is.
 */
export async function ensureLaneStreams(bus: Bus, lanes: number, bytesMax: number): Promise<void> {
  const ofLane = Math.floor(bytesMax / lanes);
  for (let lane = 0; lane < lanes; lane += 1) {
    await bus.ensureStream(streamOf(lane), subjectOf(lane), ofLane);
    await bus.ensureStream(entityStreamOf(lane), entitySubjectOf(lane), ofLane);
  }
}
