import type { StoredId } from '../../infra/accounts/ids.ts';
import { HOUR_MS } from '../../infra/durations.ts';

/**
 * Time after its end until an hour is final. By then visits are over and nearly all events have arrived; a later change is marked by a row
 * in `late_hours`.
 */
const FINAL_AFTER_MS = 3 * HOUR_MS;

/**
 * The start of the first hour that is not final when a lane's clock shows `clockMs`. From the next flush on, an owner
 * marks all its changes before that hour, and no rollup of the hour is made earlier. Both sides use this function and
 * the clock of a checkpoint, so the promise holds for any delay of either.
 */
export function finalizedBeforeMs(clockMs: number): number {
  return Math.floor((clockMs - FINAL_AFTER_MS) / HOUR_MS) * HOUR_MS;
}

/** One hour of one site; `hourMs` is its beginning in milliseconds since 1970. */
export interface SiteHour {
  readonly projectId: StoredId;
  readonly hourMs: number;
}
