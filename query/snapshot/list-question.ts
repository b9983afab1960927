import { RejectError } from '../reject.ts';
import { type Range, type RangeQuestion, rangeOf } from '../time/range.ts';
import type { History } from './history.ts';
import type { HotView } from './hot-view.ts';
import { type Asked, rejectAway } from './question.ts';
import { type Seam, seamOf } from './seam.ts';

/** The range that a list is asked for; throws a `RejectError` where there is none. */
export function listRange(query: RangeQuestion, { zone, nowMs }: Asked): Range {
  const range = rangeOf(query, nowMs, zone);
  if ('kind' in range) throw new RejectError('invalid', range.message);
  return range;
}

/** What lists are read from. */
export interface ListSources {
  readonly history: Pick<History, 'ask' | 'rejectAway'>;
  readonly hot: Pick<HotView, 'rows'>;
}

/** The seam of a list: throws a `RejectError` when the store is away, or an owner and `partial` does not excuse it. */
export async function listSeam(
  { history, hot }: ListSources,
  { site }: Asked,
  { partial }: { readonly partial: boolean },
): Promise<Seam> {
  history.rejectAway();
  const answers = await hot.rows(site.storedId);
  rejectAway(answers, partial);
  return seamOf(answers);
}
