import type { StoredId } from '../../infra/accounts/ids.ts';
import type { Filter } from '../filters/filter.ts';
import type { AnswerRow, StatementName } from '../sql/answer-rows.ts';
import type { RowTest, SessionTest } from './held-filters.ts';

/**
 * The bound values that memory reads, by kind. A value of another kind counts as absent.
 *
 * `heldFrom` to `heldPreviousTo` are the spans in which a session must have an event passing the filters on events.
 * `every` is not 0 for every path. `rowHours` are the hours to read from rows, in seconds, ascending; all when absent.
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

/** The values that memory reads, of all that a statement binds. */
export function boundOf(parameters: Readonly<Record<string, unknown>>): Bound {
  const numbers = picked(parameters, NUMBERS, isNumber);
  const { from = 0, to = 0, previousFrom = 0, previousTo = 0 } = numbers;
  return {
    ...numbers,
    ...{ from, to, previousFrom, previousTo, edges: [] },
    ...picked(parameters, TEXTS, isText),
    ...picked(parameters, LISTS_OF_NUMBERS, isListOf(isNumber)),
    ...picked(parameters, LISTS_OF_TEXTS, isListOf(isText)),
  };
}

function picked<Name extends string, Value>(
  parameters: Readonly<Record<string, unknown>>,
  names: readonly Name[],
  isOfKind: (value: unknown) => value is Value,
): Partial<Record<Name, Value>> {
  const found: Partial<Record<Name, Value>> = {};
  for (const name of names) {
    const value = parameters[name];
    if (isOfKind(value)) found[name] = value;
  }
  return found;
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number';
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/** Tests only the first value: our own code binds the lists, each of one kind. */
function isListOf<Value>(isOfKind: (value: unknown) => value is Value) {
  return (value: unknown): value is readonly Value[] =>
    Array.isArray(value) && (value.length === 0 || isOfKind(value[0]));
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
