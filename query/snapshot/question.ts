import type { Site } from '../../infra/accounts/accounts.ts';
import type { SiteDefinitions } from '../definitions/definitions.ts';
import { RejectError } from '../reject.ts';
import { type Range, type RangeQuestion, rangeOf } from '../time/range.ts';
import type { Zone } from '../time/zone.ts';
import type { History } from './history.ts';
import type { HotAnswers, HotView } from './hot-view.ts';
import { type Seam, seamOf } from './seam.ts';

/** The sources of answers. */
export interface Sources {
  readonly history: History;
  readonly hot: HotView;
}

/** The sources of a question over history and hot rows. */
export interface SeamSources {
  readonly history: Pick<History, 'ask' | 'rejectAway'> & Partial<Pick<History, 'heldFlushes'>>;
  readonly hot: Pick<HotView, 'rows'>;
}

/** Scope of a question: the site, its time zone, and the time of the question. */
export interface QuestionScope {
  readonly site: Site;
  readonly zone: Zone;
  readonly nowMs: number;
  /** Definitions that questions about the site may name; none when absent. */
  readonly definitions?: SiteDefinitions;
}

/**
 * The requested range in the site's time zone.
 * @throws {RejectError} 400 when the parameters name no range
 */
export function requestedRange(query: RangeQuestion, { zone, nowMs }: QuestionScope): Range {
  const range = rangeOf(query, nowMs, zone);
  if ('kind' in range) throw new RejectError('invalid', range.message);
  return range;
}

/**
 * Fetches the hot rows of the site and makes the seam from them.
 * @throws {RejectError} 503 when the store is unavailable; also when an owner is, unless the question has `partial`
 */
export async function openSeam(
  { history, hot }: SeamSources,
  { site }: Pick<QuestionScope, 'site'>,
  { partial }: { readonly partial: boolean },
): Promise<Seam> {
  history.rejectAway(site.storedId);
  const answers = await hot.rows(site.storedId, history.heldFlushes?.(site.storedId));
  rejectAway(answers, partial);
  return seamOf(answers);
}

/** Throws when an owner did not answer, unless the question has `partial`. */
export function rejectAway({ away }: HotAnswers, partial: boolean): void {
  const first = away[0];
  if (first === undefined || partial) return;
  throw new RejectError(
    'lane-away',
    `the newest events cannot be reached now (${first.reason}); partial=true answers without them`,
  );
}
