import type { z } from 'zod';
import type { MetricsAnswer, metricsQuery } from '../api.ts';
import { type Figures, metricsOf } from '../figures.ts';
import { RejectError } from '../reject.ts';
import { FiguresCache } from '../rollups/rollup-figures.ts';
import { StoreAwayError } from '../snapshot/history.ts';
import { headsOf } from '../snapshot/hot-view.ts';
import { type Asked, rejectAway, type Sources } from '../snapshot/question.ts';
import { seamOf } from '../snapshot/seam.ts';
import { floorTo } from '../time/buckets.ts';
import { type Range, rangeOf } from '../time/range.ts';
import { historyFigures, type RangeFigures } from './history-figures.ts';
import { memoryFigures } from './memory-figures.ts';

/** Owners hold the minutes of this time. */
const RETAINED_MS = 7_140_000;

/** `GET /insights/{projectId}/metrics` */
export async function answerMetrics(
  sources: Sources,
  { site, zone, nowMs }: Asked,
  query: z.output<typeof metricsQuery>,
  kept = new FiguresCache(),
): Promise<MetricsAnswer> {
  const range = rangeOf(query, nowMs, zone);
  if ('kind' in range) throw new RejectError('invalid', range.message);
  const question = { projectId: site.storedId, filters: query.filters };
  const answer = (figures: RangeFigures, partial: boolean) =>
    metricsAnswerOf(range, figures, { currency: site.currency, partial });
  try {
    sources.history.rejectAway();
    const rows = await sources.hot.rows(site.storedId);
    rejectAway(rows, query.partial);
    const seam = seamOf(rows);
    return answer(await historyFigures(sources.history, question, range, seam, kept), seam.partial);
  } catch (error) {
    if (!(error instanceof StoreAwayError)) throw error;
    // What the owners have counted cannot be filtered any more.
    if (query.filters.length > 0) throw error;
    const whole = isRetainedInMemory(range);
    if (!whole && !query.partial) throw error;
    const fromMs = whole ? range.previous.fromMs : floorTo(nowMs, 'minute', zone) - RETAINED_MS;
    const minutes = await sources.hot.minutes(site.storedId, fromMs);
    rejectAway(minutes, query.partial);
    const held = headsOf(minutes, 'minutes').flatMap((head) => head.minutes);
    return answer(memoryFigures(range, held), !whole || minutes.away.length > 0);
  }
}

/** These ranges and the span before each lie within `RETAINED_MS`. */
function isRetainedInMemory({ name }: Range): boolean {
  return name === '30min' || name === 'lastHour';
}

function metricsAnswerOf(
  range: Range,
  figures: RangeFigures,
  { currency, partial }: { readonly currency: string; readonly partial: boolean },
): MetricsAnswer {
  const rates = (counted: Figures) => metricsOf(counted, currency);
  return {
    metrics: rates(figures.current),
    previous: rates(figures.previous),
    series: figures.buckets.map((bucket, index) => ({
      date: range.buckets[index]?.label ?? '',
      ...rates(bucket),
    })),
    interval: range.interval,
    ...(partial ? { partial: true as const } : {}),
  };
}
