import type { HotMinute } from '../../processor/hot.ts';
import { addFigures, type Figures, type RangeFigures } from '../figures.ts';
import type { Filter } from '../filters/filter.ts';
import { type HotView, headsOf } from '../snapshot/hot-view.ts';
import { type QuestionScope, rejectAway } from '../snapshot/question.ts';
import { floorTo } from '../time/buckets.ts';
import type { Range, Span } from '../time/range.ts';

/** Owners hold the minutes of this time. */
const RETAINED_MS = 7_140_000;

/** Figures that do not come from the store, and whether some are missing. */
export interface MemoryFigures {
  readonly figures: RangeFigures;
  readonly isPartial: boolean;
}

/** The properties that decide whether memory can answer a question. */
interface MemoryQuestion {
  readonly filters: readonly Filter[];
  readonly partial: boolean;
}

/**
 * The owners' memory can answer a question about a range: the same figures for `30min` and `lastHour`, and with
 * `partial` the figures in memory for any range. Never with filters, because the owners have only counts.
 */
export function isInMemory(range: Range, { filters, partial }: MemoryQuestion): boolean {
  return filters.length === 0 && (isRetainedInMemory(range) || partial);
}

/**
 * The figures of a range from the owners' memory; undefined when they are not `isInMemory`.
 * @throws {RejectError} 503 when an owner is unavailable, unless the question has `partial`
 */
export async function figuresFromMemory(
  hot: Pick<HotView, 'minutes'>,
  { site, zone, nowMs }: QuestionScope,
  range: Range,
  { filters, partial }: MemoryQuestion,
): Promise<MemoryFigures | undefined> {
  if (!isInMemory(range, { filters, partial })) return undefined;
  const isWhole = isRetainedInMemory(range);
  const fromMs = isWhole ? range.previous.fromMs : floorTo(nowMs, 'minute', zone) - RETAINED_MS;
  const answers = await hot.minutes(site.storedId, fromMs);
  rejectAway(answers, partial);
  const minutes = headsOf(answers, 'minutes').flatMap((head) => head.minutes);
  return { figures: memoryFigures(range, minutes), isPartial: !isWhole || answers.away.length > 0 };
}

/** These ranges and the span before each lie within `RETAINED_MS`. */
function isRetainedInMemory({ name }: Range): boolean {
  return name === '30min' || name === 'lastHour';
}

/**
 * Counts a range by the minutes in the owners' memory. The figures equal the store's while the owners hold every minute
 * of the range and of the span before. A visitor may be on several lanes and in several minutes, so visitors are united
 * by their hashes.
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
