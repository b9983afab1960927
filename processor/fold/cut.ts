import { type Batch, endRow, isEmpty, noteChange, openBatch } from './batch.ts';
import { projectIdOfSlot, writeMarkerRows, writeSessionRow } from './session-rows.ts';
import { SiteError } from './set-aside.ts';
import type { SliceState } from './slice-state.ts';

/**
 * Ends a batch: writes the new state of every session that changed in it, and in the first slice the flush marker. Nothing may
 * be written to a batch afterwards. `hasRows`: some slice has rows in this flush; if none has, the batch stays empty.
 * @throws {SiteError} when a session cannot be encoded; then the state is broken
 */
export function closeBatch(state: SliceState, batch: Batch, hasRows: boolean = !isEmpty(batch)): void {
  if (!hasRows) return;
  const { sessions } = state;
  for (const slot of batch.changed) {
    if (slot === 0) continue;
    try {
      writeSessionRow(batch.sessions.writer, state, slot, 1, batch.flushNumber);
    } catch (error) {
      throw new SiteError(projectIdOfSlot(state, slot), true, error);
    }
    endRow(batch.sessions, sessions.site[slot] ?? 0);
    noteChange(batch, sessions.site[slot] ?? 0, sessions.startMs[slot] ?? 0);
    sessions.changedPlace[slot] = 0;
  }
  batch.changed.length = 0;
  if (state.slice.index === 0) writeMarkerRows(batch, state.lane);
}

/** The batch that follows a closed one, which ended at the lane's clock `clockMs`. */
export function nextBatch(batch: Batch, clockMs: number): Batch {
  return openBatch(batch.flushNumber + 1, clockMs, batch);
}
