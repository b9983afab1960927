import type { Store } from '../../infra/store/store.ts';
import { markLateHours } from '../../processor/testing/rollups.ts';
import type { Visits } from './visits.ts';

const HOUR_MS = 3_600_000;

/** Where a flush lands, and which of its hours are finalized. */
export interface LateLanding {
  readonly store: Store;
  readonly site: string;
  /** Hours before this are finalized. */
  readonly finalizedMs: number;
  readonly nowMs: number;
  /** Gets the finalized hours that the flush changes, which are to be rolled up again. */
  readonly marked: Set<number>;
}

/** Lands the next flush of a lane, if there is one, and marks the finalized hours that it changes, as the processor does. */
export async function landLate(
  visits: Visits,
  lane: number,
  { store, site, finalizedMs, nowMs, marked }: LateLanding,
): Promise<void> {
  const flush = visits.nextFlush(lane);
  if (flush === undefined) return;
  const late = flush.changes.filter(({ atMs }) => atMs < finalizedMs);
  const lateHours = [...new Set(late.map(({ atMs }) => Math.floor(atMs / HOUR_MS) * HOUR_MS))];
  for (const hourMs of lateHours) marked.add(hourMs);
  await markLateHours(store, {
    lane,
    flushNumber: flush.flushNumber,
    lateHours: lateHours.map((hourMs) => ({ projectId: site, hourMs })),
    nowMs,
  });
  await visits.land(lane, store);
}
