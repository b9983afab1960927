import type { Statement } from '../snapshot/statement.ts';
import type { StatementName } from '../sql/answer-rows.ts';

/** A question in two parts that add up. A process caches the first. */
export interface CountedParts<Finalized extends StatementName, Rest extends StatementName = Finalized> {
  /** Identifies the finalized part, which never changes; begins with the site and a space. */
  readonly key: string;
  readonly finalized: Statement<Finalized>;
  readonly rows: Statement<Rest>;
}

/** A question about visitors, in two parts; `rows` has its visitors. */
export interface QuestionParts<
  Finalized extends StatementName,
  Rest extends StatementName,
  Members extends StatementName,
> extends CountedParts<Finalized, Rest> {
  /** Run with `asked`, hashes of visitors: the part of these visitors in the finalized answer. */
  readonly members: Statement<Members>;
}

/** The parts of `metrics` with filters. */
export type FilteredMetricsParts = QuestionParts<
  'metrics-filtered',
  'metrics-filtered-visitors',
  'metrics-filtered-visitors'
>;

/** The parts of the visitors of days. */
export type VisitParts = QuestionParts<
  'active-users-finalized' | 'active-users-filtered',
  'metrics-events-rows' | 'metrics-filtered-visitors',
  'active-users-members' | 'active-users-filtered-members'
>;

/** The parts of the number of events. */
export type TotalParts = CountedParts<'event-total-rollup'>;
