/** Lengths of time in milliseconds. Days are of 24 hours: for days of a time zone see `query/time/zone.ts`. */
export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
