import { HOUR_MS } from '../../infra/durations.ts';
import type { Span } from '../time/range.ts';

/** A row of `export-extent.sql`. */
export interface Extent {
  readonly firstMs: number;
  readonly lastMs: number;
  readonly rows: number;
}

/**
 * Divides `span` at whole UTC hours into parts of about `rowsPerPart` rows, if rows are evenly distributed. Reading in
 * order needs a buffer for each column of each table part, and few table parts overlap one of these parts.
 */
export function streamParts(span: Span, { firstMs, lastMs, rows }: Extent, rowsPerPart: number): Span[] {
  const count = Math.ceil(rows / rowsPerPart);
  const firstHour = Math.floor(firstMs / HOUR_MS);
  const hours = Math.floor(lastMs / HOUR_MS) + 1 - firstHour;
  const hoursPerPart = Math.max(1, Math.ceil(hours / Math.max(1, count)));
  const edges: number[] = [];
  if (count > 1)
    for (let hour = hoursPerPart; hour < hours; hour += hoursPerPart)
      edges.push((firstHour + hour) * HOUR_MS);
  return [span.fromMs, ...edges].map((fromMs, index) => ({ fromMs, toMs: edges[index] ?? span.toMs }));
}
