/** Conditions on the time in a column, as texts of statements. */

/** In the span of the question. */
export function inSpan(column: string): string {
  return `${column} >= fromUnixTimestamp64Milli({from:Int64}) AND ${column} < fromUnixTimestamp64Milli({to:Int64})`;
}

/** In the span, or in the previous one. */
export function inSpans(column: string): string {
  const before = `${column} >= fromUnixTimestamp64Milli({previousFrom:Int64})
                    AND ${column} < fromUnixTimestamp64Milli({previousTo:Int64})`;
  return `(${inSpan(column)}
                OR ${before})`;
}

/** In one of the hours that are read from rows. */
export function inRowHours(column: string): string {
  return `toStartOfHour(${column}) IN (SELECT toDateTime(arrayJoin({rowHours:Array(UInt32)}), 'UTC'))`;
}
