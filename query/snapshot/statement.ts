import type { StoredId } from '../../infra/accounts/ids.ts';
import type { StoreParameters } from '../../infra/store/store.ts';
import type { Filter } from '../filters/filter.ts';
import type { StatementName } from '../sql/answer-rows.ts';
import type { Reason } from '../ways.ts';
import type { Seam } from './seam.ts';
import type { StatementTexts, StreamTexts } from './statement-texts.ts';

/** Bound values, with the `storedId` of the site. */
export interface SiteParameters extends StoreParameters {
  readonly site: StoredId;
}

/** One statement of `sql/`, ready to run over a seam. */
export interface Statement<Name extends StatementName = StatementName> {
  /** The name of its file in `sql/` without `.sql`, or of a made statement. The rows of its answer follow from it. */
  readonly name: Name;
  readonly parameters: SiteParameters;
  readonly texts?: StatementTexts;
  /** The filters behind the conditions in `texts`. */
  readonly filters?: readonly Filter[];
  /** Makes it a short statement: reading more rows throws a `TooManyRowsError`. */
  readonly rowsMax?: number;
  /** The plan's reason for this statement; absent when the question has no other way. */
  readonly why?: Reason;
  /** The rows are a page of an answer. Reading ends when they are far larger than a page may be (`../page-size.ts`). */
  readonly isPage?: boolean;
}

/** One of the statements of a stream. Their answers follow each other. */
export interface StreamedStatement {
  readonly parameters: StoreParameters;
  readonly seam: Seam;
  readonly texts: StreamTexts;
}
