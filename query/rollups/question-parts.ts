import type { Statement } from '../snapshot/history.ts';

/** A question for a number, in two parts that add up. A process caches the first. */
export interface CountedParts {
  /** Identifies the finalized part, which never changes; begins with the site and a space. */
  readonly key: string;
  readonly finalized: Statement;
  readonly rows: Statement;
}

/** A question about visitors, in two parts; `rows` has its visitors. */
export interface QuestionParts extends CountedParts {
  /** Run with `asked`, hashes of visitors: the part of these visitors in the finalized answer. */
  readonly members: Statement;
}
