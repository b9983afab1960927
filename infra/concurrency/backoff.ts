/** The waits between retries. Times in milliseconds. */
export interface Backoff {
  readonly firstMs: number;
  readonly maxMs: number;
}

/**
 * The wait before retry number `attempt` (from 0): doubling, capped, with up to half of it taken off at random so that
 * many waiters do not return at the same instant. `random` is in [0, 1).
 */
export function backoffMs(backoff: Backoff, attempt: number, random: number): number {
  const fullMs = Math.min(backoff.maxMs, backoff.firstMs * 2 ** Math.min(attempt, 30));
  return Math.round(fullMs * (1 - random / 2));
}
