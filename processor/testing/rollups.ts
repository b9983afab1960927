/** For tests of other rooms that need sums of hours in a store, without a processor that makes them. */
export { markLateHours } from '../rollups/late-hours.ts';
export { type SumUp, sumUp } from '../rollups/sums.ts';
