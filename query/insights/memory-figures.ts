import type { HotMinute } from '../../processor/hot.ts';
import { addFigures, type Figures } from '../figures.ts';
import type { Range, Span } from '../time/range.ts';
import type { RangeFigures } from './history-figures.ts';

/**
 * Counts a range by the minutes that the owners hold in memory: the same figures as from the store, as long as every
 * minute of the range and of the span before is still held. A visitor may be on several partitions and in several
 * minutes, so visitors are united by their hashes.
 */
export function memoryFigures(
  range: Pick<Range, 'span' | 'previous' | 'buckets'>,
  minutes: readonly HotMinute[],
): RangeFigures {
  const buckets = range.buckets.map(({ fromMs }, index) =>
    figuresIn({ fromMs, toMs: range.buckets[index + 1]?.fromMs ?? range.span.toMs }, minutes),
  );
  return {
    current: figuresIn(range.span, minutes),
    previous: figuresIn(range.previous, minutes),
    buckets,
  };
}

function figuresIn(span: Span, minutes: readonly HotMinute[]): Figures {
  const within = minutes.filter(({ minuteMs }) => minuteMs >= span.fromMs && minuteMs < span.toMs);
  const visitors = new Set<number>();
  for (const minute of within) for (const visitor of minute.visitors) visitors.add(visitor);
  return addFigures(within, visitors.size);
}
