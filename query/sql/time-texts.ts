import { happenedBetween } from '../../processor/rows.ts';

/** Conditions on the time in a column, as texts of statements. */

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

/** The index of sessions derives the hours from the time itself. */
function between(column: TimeColumn, from: string, to: string): string {
  return column === 'createdAt'
    ? happenedBetween(from, to)
    : `${column} >= fromUnixTimestamp64Milli({${from}:Int64}) AND ${column} < fromUnixTimestamp64Milli({${to}:Int64})`;
}
