import type { StoredId } from '../../infra/accounts/ids.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import type { Store, StoreParameters } from '../../infra/store/store.ts';
import { EVENTS_TABLE, happenedBetween } from '../rows.ts';

/**
 * Events of a site from flushes after `after` and up to `upTo`, by lane. If `upTo` does not exceed the checkpoints
 * of the lanes, all of them are in the store and none joins them; a purge may remove some.
 */
export interface FlushedRows {
  readonly storedId: StoredId;
  readonly after: readonly number[];
  readonly upTo: readonly number[];
}

/** A condition over rows of `events` that are called `row`. The text is constant, values are bound. */
export interface Condition {
  readonly sql: string;
  readonly parameters: StoreParameters;
}

/** Half open, in milliseconds since 1970. */
export interface TimeSpan {
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * The condition of these rows in a span of time. Each lane has a term of its own, with constants, so that the
 * index of flush numbers can skip older rows.
 */
export function rowsCondition({ storedId, after, upTo }: FlushedRows, { fromMs, toMs }: TimeSpan): Condition {
  const parameters: Record<string, unknown> = { site: storedId, fromMs, toMs };
  const terms = upTo.flatMap((to, lane) => {
    const from = after[lane] ?? 0;
    if (to <= from) return [];
    parameters[`lane${lane}`] = lane;
    parameters[`after${lane}`] = from;
    parameters[`upTo${lane}`] = to;
    return [
      `(row.partition = {lane${lane}:UInt16} AND row.flushNumber > {after${lane}:UInt32}
        AND row.flushNumber <= {upTo${lane}:UInt32})`,
    ];
  });
  return {
    sql: `row.projectId = {site:String}
      AND ${happenedBetween('fromMs', 'toMs', 'row.createdAt')}
      AND (${terms.length === 0 ? 'false' : terms.join(' OR ')})`,
    parameters,
  };
}

/** The number of rows of an hour; `hour` in hours since 1970. */
export interface HourRows {
  readonly hour: number;
  readonly rows: number;
}

/** The hours that have rows, in order, without the hours of `exceptDays` (days since 1970); at most `max`. */
export async function hoursOf(
  store: Store,
  rows: FlushedRows,
  span: TimeSpan,
  { max, exceptDays = [] }: { readonly max: number; readonly exceptDays?: readonly number[] },
): Promise<HourRows[]> {
  if (rows.upTo.every((to, lane) => to <= (rows.after[lane] ?? 0))) return [];
  const { sql, parameters } = rowsCondition(rows, span);
  return store.query<HourRows>(
    `SELECT intDiv(toUnixTimestamp64Milli(row.createdAt), ${HOUR_MS}) AS hour, count() AS rows
     FROM ${EVENTS_TABLE} AS row
     WHERE ${sql} AND NOT has({exceptDays:Array(Int64)}, intDiv(toUnixTimestamp64Milli(row.createdAt), ${24 * HOUR_MS}))
     GROUP BY hour ORDER BY hour LIMIT {hoursMax:UInt32}`,
    { ...parameters, exceptDays, hoursMax: max },
  );
}
