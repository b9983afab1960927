import { RefusalError } from '../refusal.ts';
import { type Range, type RangeQuestion, rangeOf } from '../time/range.ts';
import type { History } from './history.ts';
import type { HotView } from './hot-view.ts';
import { type Asked, refuseAway } from './question.ts';
import { type Seam, seamOf } from './seam.ts';

/** The range that a list is asked for; throws a `RefusalError` where there is none. */
export function listRange(query: RangeQuestion, { zone, nowMs }: Asked): Range {
  const range = rangeOf(query, nowMs, zone);
  if ('kind' in range) throw new RefusalError('invalid', range.message);
  return range;
}

/** What lists are read from. */
export interface ListSources {
  readonly history: Pick<History, 'ask' | 'refuseAway'>;
  readonly hot: Pick<HotView, 'rows'>;
}

/** The seam of a list: throws a `RefusalError` when the store is away, or an owner and `partial` does not excuse it. */
export async function listSeam(
  { history, hot }: ListSources,
  { site }: Asked,
  { partial }: { readonly partial: boolean },
): Promise<Seam> {
  history.refuseAway();
  const answers = await hot.rows(site.storedId);
  refuseAway(answers, partial);
  return seamOf(answers);
}
