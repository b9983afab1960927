import type { Store } from '../../infra/store/store.ts';

/** For tests of other rooms that need rollups in a store, without a processor that makes them. */
export { markLateHours } from '../lane/late-hours.ts';
export { announceInvalidation, type RollupRun, rollUp } from '../rollups/rollup.ts';

/** Lets a test with fixed times keep its hours by page, which the store would drop by the wall clock. */
export function keepHourlyPages(store: Store): Promise<void> {
  return store.command('ALTER TABLE hourly_pages REMOVE TTL');
}
