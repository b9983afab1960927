import type { EntityQuestions } from '../../ingest/entity-lookup.ts';
import { RejectError } from '../reject.ts';
import type { QuestionScope, Sources } from '../snapshot/question.ts';
import type { Span } from '../time/range.ts';
import type { KeptSessions } from './kept-sessions.ts';

/** All times that the store can represent. */
export const EVER: Span = { fromMs: Date.UTC(1900, 0, 1), toMs: Date.UTC(2299, 11, 31) };

/** The sources for questions about profiles and groups. */
export interface PeopleSources extends Sources {
  readonly records: EntityQuestions;
  /** Without it, the store is asked for every column each time. */
  readonly kept?: KeptSessions;
}

/**
 * Waits until the store has all updates of the site's profiles and groups.
 * @throws {RejectError} 503 when an owner cannot confirm that, unless the question has `partial`
 */
export async function awaitRecords(
  records: Pick<EntityQuestions, 'untilStored'>,
  { site }: Pick<QuestionScope, 'site'>,
  { partial }: { readonly partial: boolean },
): Promise<void> {
  const away = await records.untilStored(site.storedId);
  if (away.length === 0 || partial) return;
  throw new RejectError(
    'lane-away',
    'the newest updates cannot be reached now; partial=true answers without them',
  );
}
