import type { Statement } from '../snapshot/history.ts';

/** A question in two parts, for a process that caches the first. */
export interface QuestionParts {
  /** Identifies the finalized part, which never changes; begins with the site and a space. */
  readonly key: string;
  readonly finalized: Statement;
  /** The rest, with its visitors. */
  readonly rows: Statement;
  /** Asked with `asked`, hashes of visitors: what these did in the finalized part. */
  readonly members: Statement;
}
