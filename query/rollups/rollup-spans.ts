import { createHash } from 'node:crypto';
import type { StoreParameters } from '../../infra/store/store.ts';
import type { History } from '../snapshot/history.ts';
import type { Seam } from '../snapshot/seam.ts';
import { KEY_HOURS } from '../sql/rollup-texts.ts';
import type { Span } from '../time/range.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** A question about longer spans, or about times that an hour's number cannot express, goes by rows alone: five years. */
const SPAN_HOURS_MAX = 45_000;
const LAST_MS = 4_294_000_000_000;

/** What is asked for: all that lies in the spans, none of which may reach over an edge. */
export interface SpansQuestion {
  readonly projectId: string;
  readonly spans: readonly Span[];
  readonly edges: readonly number[];
  /** Which sums will do: those of hours from a time on, those of whole days. */
  readonly hoursFromMs: number;
  readonly days: boolean;
}

/** What `rollupSpans` finds, in seconds since 1970; bound as it is. */
export interface RollupSpans extends StoreParameters {
  readonly firstDay: number;
  readonly lastDay: number;
  readonly dayKeys: readonly bigint[];
  readonly firstHour: number;
  readonly lastHour: number;
  readonly hourKeys: readonly bigint[];
  readonly rowHours: readonly number[];
}

/**
 * Which days and hours of a question are answered from their sums, and which hours from rows, as the parameters of the
 * statements that read them (`sql/`, where it says `$SUMMED_HOURS$`, or rows of hours), in seconds since 1970:
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
 * (processor/rollups/rollup-job.ts). Undefined when there are no sums that help.
 */
export async function rollupSpans(
  history: Pick<History, 'ask'>,
  { projectId, spans, edges, hoursFromMs, days }: SpansQuestion,
  seam: Seam,
): Promise<RollupSpans | undefined> {
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

/**
 * What tells the sums of a span of time from all others, where its hours are all summed up; then what they say never
 * changes. Undefined where something is read from rows.
 */
export function finalizedKeyOf(sums: RollupSpans, span: Span): string | undefined {
  const isFinalized = !sums.rowHours.some(
    (hour) => hour * 1000 + HOUR_MS > span.fromMs && hour * 1000 < span.toMs,
  );
  return isFinalized ? rollupKeyOf(sums, span) : undefined;
}

/** What tells the sums of hours of a span from all others; the rest of it is read from rows. */
export function rollupKeyOf({ hourKeys }: RollupSpans, span: Span): string {
  const keys = hourKeys.filter((key) => isWithin(key, span)).join(' ');
  return createHash('sha256').update(keys).digest('base64');
}

/** Of buckets that follow each other until `endMs`, those that have hours which are read from rows, by their beginnings. */
export function openEdgesOf(
  { rowHours }: RollupSpans,
  buckets: readonly Pick<Span, 'fromMs'>[],
  endMs: number,
): readonly number[] {
  let next = 0;
  return buckets
    .filter(({ fromMs }, index) => {
      const toMs = buckets[index + 1]?.fromMs ?? endMs;
      while ((rowHours[next] ?? Number.POSITIVE_INFINITY) * 1000 + HOUR_MS <= fromMs) next += 1;
      return (rowHours[next] ?? Number.POSITIVE_INFINITY) * 1000 < toMs;
    })
    .map(({ fromMs }) => fromMs);
}

/** The sums without the hours of a span. */
export function rollupsBeside(sums: RollupSpans, span: Span): RollupSpans {
  const hourKeys = sums.hourKeys.filter((key) => !isWithin(key, span));
  const hours = hourKeys.map(hourOf);
  return { ...sums, hourKeys, firstHour: hours[0] ?? 0, lastHour: hours.at(-1) ?? 0 };
}

function isWithin(key: bigint, { fromMs, toMs }: Span): boolean {
  const hourMs = hourOf(key) * 1000;
  return hourMs >= fromMs && hourMs < toMs;
}

function hourOf(key: bigint): number {
  return (Number(key % KEY_HOURS) * HOUR_MS) / 1000;
}

interface KnownBlocks {
  readonly hours: ReadonlyMap<number, number>;
  readonly days: ReadonlyMap<number, number>;
}

/** A block that summed up these hours or days; or, as block 0, a flush of a partition that changed these hours later. */
interface SpansRow {
  readonly seconds: number;
  readonly block: number;
  /** Of each partition, the last flush that the sums hold; empty while they are to come. */
  readonly flushes: readonly number[];
  readonly partition: number;
  readonly starts: readonly number[];
}

/** The last block of each hour and day whose sums hold every flush that ever changed it, and that nothing hot changes. */
async function knownBlocks(
  history: Pick<History, 'ask'>,
  parameters: StoreParameters,
  seam: Seam,
): Promise<KnownBlocks> {
  const rows = await history.ask<SpansRow>('rollup-spans', parameters, seam);
  const marks = rows.filter(({ block }) => block === 0);
  const blocksOf = (ms: number) => {
    const last = new Map<number, SpansRow>();
    for (const row of rows) {
      if (row.block === 0 || row.seconds * 1000 !== ms) continue;
      for (const start of row.starts) if ((last.get(start)?.block ?? 0) < row.block) last.set(start, row);
    }
    for (const { partition, flushes, starts } of marks) {
      for (const hour of starts) {
        const start = floorTo(hour, ms / 1000);
        if ((last.get(start)?.flushes[partition] ?? 0) < (flushes[0] ?? 0)) last.delete(start);
      }
    }
    // What an unflushed row changes is read from rows.
    for (const hourMs of seam.hotHours) last.delete(floorTo(hourMs, ms) / 1000);
    const valid = [...last].filter(([, { flushes }]) => flushes.length > 0);
    return new Map(valid.map(([start, { block }]) => [start, block]));
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
