import { DAY_MS, HOUR_MS } from '../../infra/durations.ts';
import type { Store } from '../../infra/store/store.ts';

const LOOK_EVERY_MS = 250;

/**
 * Waits until the store has no merges left, as on an ordinary day; it forces none. Returns whether there were none for
 * `calmMs`, false after `maxMs`.
 */
export async function untilMerged(
  store: Store,
  { calmMs, maxMs }: { readonly calmMs: number; readonly maxMs: number },
): Promise<boolean> {
  const endMs = Date.now() + maxMs;
  for (let calmSinceMs = Date.now(); Date.now() - calmSinceMs < calmMs; ) {
    if (Date.now() > endMs) return false;
    const [row] = await store.query<{ running: number }>('SELECT count() AS running FROM system.merges');
    if (row?.running !== 0) calmSinceMs = Date.now();
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  return true;
}

/** The last hours of a site's rows, which are too young for a rollup; see processor/fold/finalized.ts. */
const UNFINALIZED_HOURS = 4;

/** Waits until the hours and days of rows that end at `endMs` have rollups; false after `maxMs`. */
export async function untilRolledUp(store: Store, endMs: number, maxMs: number): Promise<boolean> {
  const giveUpMs = Date.now() + maxMs;
  for (;;) {
    const [row] = await store.query<{ hour: number; day: number }>(
      `SELECT (SELECT toUnixTimestamp(max(hour)) FROM rollup_blocks WHERE notEmpty(flushed)) AS hour,
              (SELECT toUnixTimestamp(max(day)) FROM rollup_days WHERE notEmpty(flushed)) AS day`,
    );
    const finalizedMs = endMs - UNFINALIZED_HOURS * HOUR_MS;
    const { hour = 0, day = 0 } = row ?? {};
    if (hour * 1000 >= finalizedMs && day * 1000 + DAY_MS >= Math.floor(finalizedMs / DAY_MS) * DAY_MS)
      return true;
    if (Date.now() > giveUpMs) return false;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}
