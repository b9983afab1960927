const HOUR_MS = 3_600_000;

/** The hours that these times lie in, each once, as an owner says them of its rows; all in milliseconds since 1970. */
export function hoursOf(timesMs: readonly number[]): number[] {
  return [...new Set(timesMs.map((atMs) => Math.floor(atMs / HOUR_MS) * HOUR_MS))];
}
