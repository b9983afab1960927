import { HOUR_MS } from '../../infra/durations.ts';
import type { StoreParameters } from '../../infra/store/store.ts';
import type { Span } from '../time/range.ts';

/** Statements that read more rows are long: some 0.2 seconds on two cores. */
export const LONG_ROWS = 2_000_000;

/** Rows of events or sessions that a statement reads: of its span, of its row hours, or none. */
export type RowsRead = 'span' | 'row-hours' | 'none';

/** Follows from the statement's text. Everything else that a statement reads is small: rollups, profiles, groups. */
export function rowsReadBy(text: string): RowsRead {
  if (!/\bFROM\s+(?:events|sessions)\b/.test(text)) return 'none';
  const areRowHours = text.includes('{rowHours:') && !text.includes('NOT toStartOfHour(');
  return areRowHours ? 'row-hours' : 'span';
}

/** Spans of time whose rows a statement reads. None for statements about one profile or a list of ids: they are short. */
export function spansRead(read: RowsRead, parameters: StoreParameters): readonly Span[] {
  if (read === 'none') return [];
  const { rowHours } = parameters;
  if (read === 'row-hours' && Array.isArray(rowHours))
    return rowHours.map((hour) => ({ fromMs: Number(hour) * 1000, toMs: Number(hour) * 1000 + HOUR_MS }));
  return [
    spanOf(parameters.from, parameters.to),
    spanOf(parameters.previousFrom, parameters.previousTo),
  ].filter(({ fromMs, toMs }) => fromMs < toMs);
}

function spanOf(from: unknown, to: unknown): Span {
  const areTimes = typeof from === 'number' && typeof to === 'number';
  return areTimes ? { fromMs: from, toMs: to } : { fromMs: 0, toMs: 0 };
}
