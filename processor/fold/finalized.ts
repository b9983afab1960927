export const HOUR_MS = 3_600_000;

/**
 * How long after its end an hour is left alone. Visits are over by then and events have arrived, all but a few; what
 * changes an hour later is marked, and costs a row in `late_hours`.
 */
const SETTLE_MS = 3 * HOUR_MS;

/**
 * The beginning of the first hour that is not settled, when a partition's clock shows `clockMs`: an owner marks whatever
 * it changes before it, from the next flush on, and nothing before it is summed up sooner. Both sides of that promise
 * go by this function and by the clock of a checkpoint, so it holds however late either of them comes.
 */
export function finalizedBeforeMs(clockMs: number): number {
  return Math.floor((clockMs - SETTLE_MS) / HOUR_MS) * HOUR_MS;
}

/** An hour of a site, in milliseconds since 1970. */
export interface SiteHour {
  readonly projectId: string;
  readonly hourMs: number;
}
