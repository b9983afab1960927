import type { StoreParameters } from '../../infra/store.ts';
import type { History } from '../history.ts';
import type { Span } from '../range.ts';
import type { Seam } from '../seam.ts';

const HOUR_MS = 3_600_000;
/** A question about longer spans, or about times that an hour's number cannot express, goes by rows alone: five years. */
const SPAN_HOURS_MAX = 45_000;
const LAST_MS = 4_294_000_000_000;

/** What hours are asked for: all that lie in the spans, none of which may reach over an edge. */
export interface HoursQuestion {
  readonly projectId: string;
  readonly spans: readonly Span[];
  readonly edges: readonly number[];
}

/**
 * Which hours of a question are answered from their sums and which from rows, as the parameters of the statements that
 * read both (`sql/*-summed.sql`), in seconds since 1970:
 *
 *     span        |from                                      to|
 *     hours    |    |    |    |    |    |    |    |    |    |    |
 *              rows  sum  sum  sum  rows sum  sum  sum  rows rows
 *                ↑ reaches out        ↑ changed late     ↑ not settled, or hot
 *
 * Undefined when the question is one for rows alone.
 */
export async function summedHours(
  history: Pick<History, 'ask'>,
  { projectId, spans, edges }: HoursQuestion,
  seam: Seam,
): Promise<StoreParameters | undefined> {
  const all = hoursOf(spans);
  if (all === undefined) return undefined;
  const whole = wholeHours(spans, edges);
  const [firstHour = 0, lastHour = 0] = [whole[0], whole.at(-1)];
  const blocks =
    whole.length === 0
      ? new Map<number, number>()
      : await blocksOf(history, { site: projectId, firstHour, lastHour }, seam);
  const hours = whole.filter((hour) => blocks.has(hour));
  const summed = new Set(hours);
  return {
    firstHour,
    lastHour,
    hours,
    blocks: hours.map((hour) => blocks.get(hour)),
    rowHours: all.filter((hour) => !summed.has(hour)),
  };
}

async function blocksOf(
  history: Pick<History, 'ask'>,
  parameters: StoreParameters,
  seam: Seam,
): Promise<ReadonlyMap<number, number>> {
  const rows = await history.ask<{ hours: number[]; blocks: number[] }>('rolled-hours', parameters, seam);
  return new Map(rows.flatMap(({ hours, blocks }) => hours.map((hour, place) => [hour, blocks[place] ?? 0])));
}

/** Every hour that the spans touch, ascending; undefined when they are too many or out of reach. */
function hoursOf(spans: readonly Span[]): readonly number[] | undefined {
  const hours = new Set<number>();
  for (const { fromMs, toMs } of spans) {
    if (fromMs < 0 || toMs > LAST_MS || (toMs - fromMs) / HOUR_MS > SPAN_HOURS_MAX) return undefined;
    for (let ms = floorHour(fromMs); ms < toMs; ms += HOUR_MS) hours.add(ms / 1000);
  }
  return [...hours].sort((a, b) => a - b);
}

/** The hours that lie in one span as a whole, with no edge inside, ascending. */
export function wholeHours(spans: readonly Span[], edges: readonly number[]): readonly number[] {
  const cut = new Set(edges.filter((edge) => edge % HOUR_MS !== 0).map((edge) => floorHour(edge) / 1000));
  const hours = new Set<number>();
  for (const { fromMs, toMs } of spans) {
    for (let ms = Math.ceil(fromMs / HOUR_MS) * HOUR_MS; ms + HOUR_MS <= toMs; ms += HOUR_MS) {
      if (!cut.has(ms / 1000)) hours.add(ms / 1000);
    }
  }
  return [...hours].sort((a, b) => a - b);
}

function floorHour(ms: number): number {
  return Math.floor(ms / HOUR_MS) * HOUR_MS;
}
