import type { StoredId } from '../../infra/accounts/ids.ts';
import type { Filter } from '../filters/filter.ts';
import type { RowTest, SessionTest } from './held-filters.ts';

/** The bound values of a `sql/` statement that memory needs. */
export interface Bound {
  readonly from: number;
  readonly to: number;
  readonly previousFrom: number;
  readonly previousTo: number;
  readonly edges: readonly number[];
  /** The spans in which a session must have an event that passes the filters on events. */
  readonly heldFrom?: number;
  readonly heldTo?: number;
  readonly heldPreviousFrom?: number;
  readonly heldPreviousTo?: number;
  readonly currency?: string;
  readonly windowMax?: number;
  readonly never?: number;
  readonly names?: readonly string[];
  readonly paths?: readonly string[];
  /** Not 0: every path. */
  readonly every?: number;
  /** The hours to read from rows, in seconds, ascending; all when absent. */
  readonly rowHours?: readonly number[];
  readonly profileId?: string;
  readonly sessionId?: string;
  readonly behindAt?: number;
  readonly behindId?: string;
  readonly limit?: number;
  readonly offset?: number;
}

/** A statement to be answered here. */
export interface MemoryStatement {
  readonly bound: Bound;
  /** The text for `$COLUMNS$`. */
  readonly columns: string;
  /** An event's row in lists, by its id in hexadecimal digits; undefined if it is not in memory. */
  readonly listed: (id: string) => object | undefined;
  /** Tests an event by the filters; undefined without filters on events. */
  readonly passes: RowTest | undefined;
  /** Tests the session of a slot by the filters. */
  readonly fits: SessionTest;
}

/** The part of a statement (`snapshot/history.ts`) that rows in memory need. */
export interface HeldStatement {
  readonly name: string;
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
