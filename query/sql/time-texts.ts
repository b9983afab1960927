import { happenedBetween } from '../../processor/rows.ts';

/** Conditions on the time in a column, and its bucket, as texts of statements. */

type TimeColumn = 'createdAt' | 'startedAt';

/** In the span of the question. */
export function inSpan(column: TimeColumn): string {
  return between(column, 'from', 'to');
}

/** In the span, or in the previous one. */
export function inSpans(column: TimeColumn): string {
  return `(${inSpan(column)}
                OR ${between(column, 'previousFrom', 'previousTo')})`;
}

/** In one of the row hours. */
export function inRowHours(column: string): string {
  return `toStartOfHour(${column}) IN (SELECT toDateTime(arrayJoin({rowHours:Array(UInt32)}), 'UTC'))`;
}

/**
 * The end of a statement that reads few hours by a subquery: the index is to find them. For all other statements it is off
 * (`snapshot/history.ts`), because sorting a large set takes longer than reading the rows.
 */
export const BY_INDEX = 'SETTINGS use_index_for_in_with_subqueries = 1';

/** Each hour from one time to another, as a row. */
export function hoursBetween(first: string, last: string): string {
  const hourOf = (column: string) => `intDiv(toUnixTimestamp(${column}), 3600)`;
  return `arrayJoin(arrayMap(hour -> toDateTime(hour * 3600, 'UTC'), range(${hourOf(first)}, ${hourOf(last)} + 1)))`;
}

/** The bucket of a time, named by its first millisecond: the greatest of `edges` that is not later. */
export function bucketOf(column: string): string {
  return roundedDown(`toUnixTimestamp64Milli(${column})`);
}

/** The bucket of an hour of a rollup. */
export const BUCKET_OF_HOUR: string = roundedDown('toInt64(toUnixTimestamp(hour)) * 1000');

/** The number of a bucket, counted from 1. */
export function dayOf(bucket: string): string {
  return `toUInt16(indexOf({edges:Array(Int64)}, ${bucket}))`;
}

/** True for a time in the span of the question, and false in the previous one. */
export function isCurrent(column: string): string {
  return `${column} >= fromUnixTimestamp64Milli({from:Int64})`;
}

function roundedDown(atMs: string): string {
  return `roundDown(${atMs}, {edges:Array(Int64)})`;
}

/** The index of sessions derives the hours from the time itself. */
function between(column: TimeColumn, from: string, to: string): string {
  return column === 'createdAt'
    ? happenedBetween(from, to)
    : `${column} >= fromUnixTimestamp64Milli({${from}:Int64}) AND ${column} < fromUnixTimestamp64Milli({${to}:Int64})`;
}
