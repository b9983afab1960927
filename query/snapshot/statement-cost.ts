import { HOUR_MS } from '../../infra/durations.ts';
import type { StoreParameters } from '../../infra/store/store.ts';
import type { Span } from '../time/range.ts';
import type { Engine, Reason } from '../ways.ts';
import { Requester } from './requester.ts';

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

/** The engine of a statement in the store, by the tables that its text reads. */
export function engineOf(text: string): Engine {
  const readsRollups = /\bFROM\s+(?:(?:hourly|daily)_\w+|\$ROLLUP_TABLE\$)/.test(text);
  const readsRows = rowsReadBy(text) !== 'none';
  if (readsRollups) return readsRows ? 'rollups+rows' : 'rollups';
  return readsRows ? 'rows' : 'other';
}

/** A statement that the store is asked, and the reasons of the plan and of memory to leave it to the store. */
interface ChosenStatement {
  readonly name: string;
  readonly why?: Reason;
  readonly notInMemory: Reason;
}

/** The rows that each statement reads, and its engine. */
export class StatementCosts {
  readonly #reads: ReadonlyMap<string, { readonly rows: RowsRead; readonly engine: Engine }>;

  constructor(texts: ReadonlyMap<string, string>) {
    this.#reads = new Map(
      [...texts].map(([name, text]) => [name, { rows: rowsReadBy(text), engine: engineOf(text) }]),
    );
  }

  spansOf(name: string, parameters: StoreParameters): readonly Span[] {
    return spansRead(this.#reads.get(name)?.rows ?? 'none', parameters);
  }

  /**
   * Notes that the store answers a statement.
   * @param rows an estimate of the rows to read; 0 for none, infinite if unknown
   */
  noteWay({ name, why, notInMemory }: ChosenStatement, rows: number): void {
    const { engine = 'other' } = this.#reads.get(name) ?? {};
    const because = why ?? (engine === 'other' ? 'small-table' : 'no-rollups');
    Requester.noteWay({
      ...{ part: name, engine, why: because, notInMemory },
      ...(rows > 0 && { rows }),
    });
  }
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
