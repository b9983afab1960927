import { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import type { Store } from '../../infra/store/store.ts';
import type { SiteHour } from '../fold/finalized.ts';

const BYTES_MAX = 67_108_864;

/** A flush, and the finalized hours that it changes. */
export interface LateFlush {
  readonly lane: number;
  readonly flushNumber: number;
  readonly lateHours: readonly SiteHour[];
  readonly nowMs: number;
}

/**
 * Marks the hours of a flush as changed. Idempotent; when the flush then brings no rows, the hours are rolled up once
 * more than needed.
 */
export async function markLateHours(
  store: Store,
  { lane, flushNumber, lateHours, nowMs }: LateFlush,
): Promise<void> {
  if (lateHours.length === 0) return;
  const writer = new RowBinaryWriter(BYTES_MAX);
  for (const { projectId, hourMs } of lateHours) {
    writer.string(projectId);
    writer.u32(hourMs / 1000);
    writer.u16(lane);
    writer.u32(flushNumber);
    writer.u32(Math.floor(nowMs / 1000));
  }
  const columns = ['projectId', 'hour', 'partition', 'flushNumber', 'markedAt'];
  await store.insertRowBinary('late_hours', columns, [writer.bytes()], undefined);
}
