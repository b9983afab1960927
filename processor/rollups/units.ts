import { HOUR_MS } from '../../infra/durations.ts';

/** Units that are rolled up as a whole: an hour, or a day in UTC. */
export const ROLLUP_UNITS = ['hour', 'day'] as const;
export type RollupUnit = (typeof ROLLUP_UNITS)[number];

export interface UnitTables {
  readonly ms: number;
  /** The column that holds the beginning of the hour or day, in all of its tables. */
  readonly column: string;
  /** The store's function that computes the beginning. */
  readonly startOf: string;
  /** The table of announcements: which hours or days are rolled up. */
  readonly announced: string;
  readonly pages: string;
}

export const UNITS: Readonly<Record<RollupUnit, UnitTables>> = {
  hour: {
    ms: HOUR_MS,
    column: 'hour',
    startOf: 'toStartOfHour',
    announced: 'rollup_blocks',
    pages: 'hourly_pages',
  },
  day: {
    ms: 24 * HOUR_MS,
    column: 'day',
    startOf: 'toStartOfDay',
    announced: 'rollup_days',
    pages: 'daily_pages',
  },
};

/** The beginning of the hour or day that contains a time, in milliseconds since 1970. */
export function startOfUnit(unit: RollupUnit, ms: number): number {
  return Math.floor(ms / UNITS[unit].ms) * UNITS[unit].ms;
}
