const HOUR_MS = 3_600_000;

/** The distinct hours of these times, as an owner reports them for its rows. All in milliseconds since 1970. */
export function hoursOf(timesMs: readonly number[]): number[] {
  return [...new Set(timesMs.map((atMs) => Math.floor(atMs / HOUR_MS) * HOUR_MS))];
}
