import type { Filter } from '../filters/filter.ts';
import type { RowTest, SessionTest } from './held-filters.ts';

/** What a statement of `sql/` binds, as far as memory needs it. */
export interface Bound {
  readonly from: number;
  readonly to: number;
  readonly previousFrom: number;
  readonly previousTo: number;
  readonly edges: readonly number[];
  /** The spans in which a session must have an event that passes filters on events. */
  readonly heldFrom?: number;
  readonly heldTo?: number;
  readonly heldPreviousFrom?: number;
  readonly heldPreviousTo?: number;
  readonly currency?: string;
  readonly windowMax?: number;
  readonly never?: number;
  readonly names?: readonly string[];
  readonly paths?: readonly string[];
  /** Not 0: for every path. */
  readonly every?: number;
  /** The hours that are read from rows, in seconds, rising; absent where all are. */
  readonly rowHours?: readonly number[];
  readonly profileId?: string;
  readonly sessionId?: string;
  readonly behindAt?: number;
  readonly behindId?: string;
  readonly limit?: number;
  readonly offset?: number;
}

/** A statement as it is answered here. */
export interface MemoryStatement {
  readonly bound: Bound;
  /** The text for `$COLUMNS$`. */
  readonly columns: string;
  /** The row of an event as lists show it, by its id in hexadecimal digits; undefined when it is not in memory. */
  readonly listed: (id: string) => object | undefined;
  /** Whether an event passes the filters; undefined when all do. */
  readonly passes: RowTest | undefined;
  /** Whether the session of a slot passes the filters. */
  readonly fits: SessionTest;
}

/** A statement as it is asked (`snapshot/history.ts`), as far as rows in memory need it. */
export interface HeldStatement {
  readonly name: string;
  readonly parameters: {
    readonly site: string;
    readonly limit?: unknown;
    readonly rowHours?: unknown;
    readonly from?: unknown;
    readonly previousFrom?: unknown;
  };
  readonly texts?: { readonly columns?: string; readonly events?: string; readonly sessions?: string };
  readonly filters?: readonly Filter[];
}
