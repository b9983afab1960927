import type { StoreParameters } from '../../infra/store.ts';
import type { History } from '../history.ts';
import type { Span } from '../range.ts';
import type { Seam } from '../seam.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** A question about longer spans, or about times that an hour's number cannot express, goes by rows alone: five years. */
const SPAN_HOURS_MAX = 45_000;
const LAST_MS = 4_294_000_000_000;
/** What the statements multiply a block with, to put the number of its hour behind it; enough until the year 2089. */
const KEY_HOURS = 1_048_576n;

/** What is asked for: all that lies in the spans, none of which may reach over an edge. */
export interface SpansQuestion {
  readonly projectId: string;
  readonly spans: readonly Span[];
  readonly edges: readonly number[];
  /** Which sums will do: those of hours from a time on, those of whole days. */
  readonly hoursFromMs: number;
  readonly days: boolean;
}

/**
 * Which days and hours of a question are answered from their sums, and which hours from rows, as the parameters of the
 * statements that read them (`sql/*-summed.sql`), in seconds since 1970:
 *
 *     span        |from                                             to|
 *     UTC days    |     │ day      │ day      │ day      │            |
 *     hours    |  .  | .│          │ . . . .  │          │ .  .  .  | . |
 *              rows  sum   sum      hours, for   sum       hours     rows
 *                ↑ reaches out      ↑ one of them                    ↑ not settled, or hot
 *                                     was changed late: rows
 *
 * A key is what a row of sums must have to be meant: its block and its hour in one number. The rows stay for as long as the
 * question takes: what a flush changes later is not summed up again before it has been left alone for a while
 * (processor/rollups/roller.ts). Undefined when there are no sums that help.
 */
export async function summedSpans(
  history: Pick<History, 'ask'>,
  { projectId, spans, edges, hoursFromMs, days }: SpansQuestion,
  seam: Seam,
): Promise<StoreParameters | undefined> {
  const all = hoursOf(spans);
  const [first, last] = [all?.[0], all?.at(-1)];
  if (all === undefined || first === undefined || last === undefined) return undefined;
  const known = await knownBlocks(history, { site: projectId, first, last }, seam);
  const ofDays = days ? wholeSpans(spans, edges, DAY_MS).filter((day) => known.days.has(day)) : [];
  const inDays = new Set(ofDays);
  const ofHours = wholeSpans(spans, edges, HOUR_MS).filter(
    (hour) =>
      hour * 1000 >= hoursFromMs && known.hours.has(hour) && !inDays.has(floorTo(hour, DAY_MS / 1000)),
  );
  if (ofDays.length + ofHours.length === 0) return undefined;
  const inHours = new Set(ofHours);
  const keyOf = (start: number, blocks: ReadonlyMap<number, number>) =>
    BigInt(blocks.get(start) ?? 0) * KEY_HOURS + BigInt((start * 1000) / HOUR_MS);
  return {
    firstDay: ofDays[0] ?? 0,
    lastDay: ofDays.at(-1) ?? 0,
    dayKeys: ofDays.map((day) => keyOf(day, known.days)),
    firstHour: ofHours[0] ?? 0,
    lastHour: ofHours.at(-1) ?? 0,
    hourKeys: ofHours.map((hour) => keyOf(hour, known.hours)),
    rowHours: all.filter((hour) => !inHours.has(hour) && !inDays.has(floorTo(hour, DAY_MS / 1000))),
  };
}

interface KnownBlocks {
  readonly hours: ReadonlyMap<number, number>;
  readonly days: ReadonlyMap<number, number>;
}

interface SpansRow {
  readonly seconds: number;
  readonly starts: readonly number[];
  readonly blocks: readonly number[];
}

async function knownBlocks(
  history: Pick<History, 'ask'>,
  parameters: StoreParameters,
  seam: Seam,
): Promise<KnownBlocks> {
  const rows = await history.ask<SpansRow>('summed-spans', parameters, seam);
  const blocksOf = (ms: number) => {
    const { starts = [], blocks = [] } = rows.find(({ seconds }) => seconds * 1000 === ms) ?? {};
    const known = new Map(starts.map((start, place) => [start, blocks[place] ?? 0]));
    // What an unflushed row changes is read from rows.
    for (const hour of seam.hotHours) known.delete(floorTo(hour, ms) / 1000);
    return known;
  };
  return { hours: blocksOf(HOUR_MS), days: blocksOf(DAY_MS) };
}

/** Every hour that the spans touch, in seconds, ascending; undefined when they are too many or out of reach. */
function hoursOf(spans: readonly Span[]): readonly number[] | undefined {
  const hours = new Set<number>();
  for (const { fromMs, toMs } of spans) {
    if (fromMs < 0 || toMs > LAST_MS || (toMs - fromMs) / HOUR_MS > SPAN_HOURS_MAX) return undefined;
    for (let ms = floorTo(fromMs, HOUR_MS); ms < toMs; ms += HOUR_MS) hours.add(ms / 1000);
  }
  return [...hours].sort((a, b) => a - b);
}

/** The hours or days that lie in one span as a whole, with no edge inside, in seconds, ascending. */
export function wholeSpans(
  spans: readonly Span[],
  edges: readonly number[],
  lengthMs: number,
): readonly number[] {
  const cut = new Set(
    edges.filter((edge) => edge % lengthMs !== 0).map((edge) => floorTo(edge, lengthMs) / 1000),
  );
  const starts = new Set<number>();
  for (const { fromMs, toMs } of spans) {
    for (let ms = Math.ceil(fromMs / lengthMs) * lengthMs; ms + lengthMs <= toMs; ms += lengthMs) {
      if (!cut.has(ms / 1000)) starts.add(ms / 1000);
    }
  }
  return [...starts].sort((a, b) => a - b);
}

function floorTo(value: number, step: number): number {
  return Math.floor(value / step) * step;
}
