import { HOUR_MS } from '../../infra/durations.ts';

/** The distinct hours of these times, as an owner reports them for its rows. All in milliseconds since 1970. */
export function hoursOf(timesMs: readonly number[]): number[] {
  return [...new Set(timesMs.map((atMs) => Math.floor(atMs / HOUR_MS) * HOUR_MS))];
}
