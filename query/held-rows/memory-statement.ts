import type { StoredId } from '../../infra/accounts/ids.ts';
import type { Filter } from '../filters/filter.ts';
import type { AnswerRow, StatementName } from '../sql/answer-rows.ts';
import type { RowTest, SessionTest } from './held-filters.ts';

/**
 * Bound values for memory, by kind. A value of another kind counts as absent. `heldFrom` to `heldPreviousTo` are the
 * spans in which a session must have an event passing the filters on events. `every` is not 0 for every path. `rowHours` are the hours to read from rows, in seconds, ascending; all when absent.
 */
const NUMBERS = [
  ...(['from', 'to', 'previousFrom', 'previousTo', 'heldFrom', 'heldTo', 'heldPreviousFrom'] as const),
  ...(['heldPreviousTo', 'windowMax', 'never', 'every', 'behindAt', 'limit', 'offset'] as const),
];
const TEXTS = ['currency', 'profileId', 'sessionId', 'behindId'] as const;
const LISTS_OF_NUMBERS = ['edges', 'rowHours'] as const;
const LISTS_OF_TEXTS = ['names', 'paths'] as const;

type Needed = 'from' | 'to' | 'previousFrom' | 'previousTo';
type BoundNumber = (typeof NUMBERS)[number];

/** The bound values of a statement in memory. */
export type Bound = Readonly<Record<Needed, number>> &
  Readonly<Partial<Record<Exclude<BoundNumber, Needed>, number>>> &
  Readonly<Partial<Record<(typeof TEXTS)[number], string>>> &
  Readonly<Partial<Record<(typeof LISTS_OF_TEXTS)[number], readonly string[]>>> & {
    readonly edges: readonly number[];
    readonly rowHours?: readonly number[];
  };

/** Selects them from all values of a statement. */
export function boundOf(parameters: Readonly<Record<string, unknown>>): Bound {
  const numbers: Partial<Record<BoundNumber, number>> = {};
  for (const name of NUMBERS) {
    const value = parameters[name];
    if (typeof value === 'number') numbers[name] = value;
  }
  const texts: Partial<Record<(typeof TEXTS)[number], string>> = {};
  for (const name of TEXTS) {
    const value = parameters[name];
    if (typeof value === 'string') texts[name] = value;
  }
  const lists: Partial<Record<(typeof LISTS_OF_NUMBERS)[number], readonly number[]>> = {};
  for (const name of LISTS_OF_NUMBERS) {
    const value = parameters[name];
    if (isList(value, 'number')) lists[name] = value;
  }
  const named: Partial<Record<(typeof LISTS_OF_TEXTS)[number], readonly string[]>> = {};
  for (const name of LISTS_OF_TEXTS) {
    const value = parameters[name];
    if (isList(value, 'string')) named[name] = value;
  }
  const { from = 0, to = 0, previousFrom = 0, previousTo = 0 } = numbers;
  return { ...numbers, from, to, previousFrom, previousTo, ...texts, ...named, edges: [], ...lists };
}

/** Only the first value is tested: our own code binds the lists, each of one kind. */
function isList(value: unknown, kind: 'number'): value is readonly number[];
function isList(value: unknown, kind: 'string'): value is readonly string[];
function isList(value: unknown, kind: string): boolean {
  return Array.isArray(value) && (value.length === 0 || typeof value[0] === kind);
}

/** A statement to be answered here. */
export interface MemoryStatement {
  readonly bound: Bound;
  /** The text for `$COLUMNS$`. */
  readonly columns: string;
  /** An event's row in lists, by its id in hexadecimal digits; undefined if it is not in memory. */
  readonly listed: (id: string) => AnswerRow<'event-list'> | undefined;
  /** Tests an event by the filters; undefined without filters on events. */
  readonly passes: RowTest | undefined;
  /** Tests the session of a slot by the filters. */
  readonly fits: SessionTest;
}

/** The part of a statement (`snapshot/history.ts`) that rows in memory need. */
export interface HeldStatement<Name extends StatementName = StatementName> {
  readonly name: Name;
  readonly parameters: {
    readonly site: StoredId;
    readonly limit?: unknown;
    readonly rowHours?: unknown;
    readonly from?: unknown;
    readonly previousFrom?: unknown;
  };
  readonly texts?: { readonly columns?: string; readonly events?: string; readonly sessions?: string };
  readonly filters?: readonly Filter[];
}
