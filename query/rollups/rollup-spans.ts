import { createHash } from 'node:crypto';
import { DAY_MS, HOUR_MS } from '../../infra/durations.ts';
import type { StoreParameters } from '../../infra/store/store.ts';
import type { SiteParameters } from '../snapshot/history.ts';
import { KEY_HOURS } from '../sql/rollup-texts.ts';
import type { Span } from '../time/range.ts';

/** For each finalized hour and day, by its start in seconds since 1970, the block whose rows are its rollup. */
export interface FinalizedBlocks {
  readonly hours: ReadonlyMap<number, number>;
  readonly days: ReadonlyMap<number, number>;
  /**
   * Whether nothing happened in an hour: it is before the first rollup of all, which was made of the oldest rows, and was
   * never changed since.
   */
  isEmpty(hour: number): boolean;
}

/** Which rollups may answer a question about everything in the spans. No rollup may reach over an edge. */
export interface RollupUse {
  readonly spans: readonly Span[];
  readonly edges: readonly number[];
  /** Rollups of hours are used from this time on. */
  readonly hoursFromMs: number;
  /** Whether rollups of whole days are used. */
  readonly days: boolean;
}

/**
 * What is read from rollups, and what from rows, as the parameters of the statements with `$ROLLUP_DAYS$`,
 * `$ROLLUP_HOURS$` or row hours. All times in seconds since 1970.
 */
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
 * Divides a question between rollups and rows. Undefined when no rollup helps.
 *
 *     span        |from                                                to|
 *     UTC days    |      │  day       │  day       │  day      │          |
 *     hours    |  .  . . │            │ . . . . .  │           │  .  .  . | . |
 *               rows      rollup        hours: one    rollup      hours      rows
 *                 ↑ reaches out         was changed               ↑ not finalized,
 *                   of the span         late and is                 or hot: rows
 *                                       read from rows
 *
 * A key names the row of a rollup: its block and its hour in one number. Such rows stay for as long as a question takes,
 * because an hour that a flush changes late is rolled up again only after a pause (`processor/rollups/rollup-job.ts`).
 */
export function selectRollups(
  { spans, edges, hoursFromMs, days }: RollupUse,
  blocks: FinalizedBlocks,
): RollupSpans | undefined {
  const byDay = days ? wholeSpans(spans, edges, DAY_MS).filter((day) => blocks.days.has(day)) : [];
  const inDays = new Set(byDay);
  const isInDay = (hour: number) => inDays.has(floorTo(hour, DAY_MS / 1000));
  const byHour = wholeSpans(spans, edges, HOUR_MS).filter(
    (hour) => hour * 1000 >= hoursFromMs && blocks.hours.has(hour) && !isInDay(hour),
  );
  if (byDay.length + byHour.length === 0) return undefined;
  const inHours = new Set(byHour);
  return {
    firstDay: byDay[0] ?? 0,
    lastDay: byDay.at(-1) ?? 0,
    dayKeys: byDay.map((day) => keyIn(blocks.days, day)),
    firstHour: byHour[0] ?? 0,
    lastHour: byHour.at(-1) ?? 0,
    hourKeys: byHour.map((hour) => keyIn(blocks.hours, hour)),
    rowHours: hoursOf(spans).filter((hour) => !inHours.has(hour) && !isInDay(hour) && !blocks.isEmpty(hour)),
  };
}

/** Which finalized hours a question uses, besides finalized days. */
export interface FinalizedHours {
  /** From this time on, all of them in place of rows. */
  readonly fromMs: number;
  /** The lookup also tells which row hours are finalized, from this time on and on the first day, so that their rows can be cached. */
  readonly recentFromMs: number;
}

/** Finalized hours that are read from rows, in seconds since 1970, and the blocks that identify what happened in them. */
export interface RecentHours {
  readonly hours: readonly number[];
  readonly keys: readonly bigint[];
}

/** The row hours that are finalized and lie whole in the span, from `fromMs` on and on its first day. None if `fromMs` is infinite. */
export function recentHours(
  { rowHours }: RollupSpans,
  { hours }: FinalizedBlocks,
  span: Span,
  fromMs: number,
): RecentHours {
  const isTold = (ms: number) => ms >= fromMs || ms < span.fromMs + DAY_MS;
  const isWhole = (ms: number) => ms >= span.fromMs && ms + HOUR_MS <= span.toMs;
  const recent = Number.isFinite(fromMs)
    ? rowHours.filter((hour) => isTold(hour * 1000) && isWhole(hour * 1000) && hours.has(hour))
    : [];
  return { hours: recent, keys: recent.map((hour) => keyIn(hours, hour)) };
}

function keyIn(blockByStart: ReadonlyMap<number, number>, start: number): bigint {
  return BigInt(blockByStart.get(start) ?? 0) * KEY_HOURS + BigInt((start * 1000) / HOUR_MS);
}

/** The beginning of a span in which every hour is finalized. */
export interface FinalizedBeginning {
  /** Its end: that of the span, or the beginning of an hour or, in a longer span, of a day in UTC. */
  readonly untilMs: number;
  /** Identifies what happened in these hours. */
  readonly key: string;
}

const CUT_BY_HOUR_MAX_MS = 8 * DAY_MS;

/** Identifies the selected rollups of a site, which never change, and what else an answer depends on; begins with the site and a space. */
export function rollupsKeyOf({ site, dayKeys, hourKeys }: SiteParameters, about = ''): string {
  const hash = createHash('sha256').update([about, dayKeys, hourKeys].join('|'));
  return `${site} ${hash.digest('base64')}`;
}

/** Whether the finalized part of a span ends with a day: of a long one, it then changes once a day, and a day of rows is soon read. */
export function isCutByDay({ fromMs, toMs }: Span): boolean {
  return toMs - fromMs > CUT_BY_HOUR_MAX_MS;
}

/** All time zones of today differ from UTC by whole quarters of an hour. */
const QUARTER_MS = HOUR_MS / 4;

/**
 * How far a span is finalized from its beginning on. Undefined where its first hour is not, or where the span begins at a
 * moment, and so every question has another one.
 */
export function finalizedBeginning(
  { hours, isEmpty }: FinalizedBlocks,
  span: Span,
): FinalizedBeginning | undefined {
  const { fromMs, toMs } = span;
  if (fromMs % QUARTER_MS !== 0) return undefined;
  let hour = floorTo(fromMs, HOUR_MS) / 1000;
  while (hour * 1000 < toMs && (hours.has(hour) || isEmpty(hour))) hour += HOUR_MS / 1000;
  const isWhole = hour * 1000 >= toMs;
  const cutMs = isCutByDay(span) ? floorTo(hour * 1000, DAY_MS) : hour * 1000;
  const untilMs = isWhole ? toMs : cutMs;
  if (untilMs <= fromMs) return undefined;
  const key = createHash('sha256');
  for (let at = floorTo(fromMs, HOUR_MS) / 1000; at * 1000 < untilMs; at += HOUR_MS / 1000)
    key.update(`${hours.get(at) ?? 0} `);
  return { untilMs, key: `${fromMs} ${untilMs} ${key.digest('base64')}` };
}

/** Identifies the rollups of a span that needs no rows, whose answer never changes. Undefined where rows are needed. */
export function finalizedKeyOf(rollups: RollupSpans, span: Span): string | undefined {
  const isFinalized = !rollups.rowHours.some(
    (hour) => hour * 1000 + HOUR_MS > span.fromMs && hour * 1000 < span.toMs,
  );
  return isFinalized ? rollupKeyOf(rollups, span) : undefined;
}

/** Identifies the rollups of hours within a span; the rest of the span is read from rows. */
export function rollupKeyOf({ hourKeys }: RollupSpans, span: Span): string {
  const keys = hourKeys.filter((key) => isWithin(key, span)).join(' ');
  return createHash('sha256').update(keys).digest('base64');
}

/** Where the buckets begin that have hours read from rows. The buckets follow each other until `endMs`. */
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

/** The selection without the rollups of hours within a span. */
export function withoutSpan(rollups: RollupSpans, span: Span): RollupSpans {
  const hourKeys = rollups.hourKeys.filter((key) => !isWithin(key, span));
  const hours = hourKeys.map(hourOf);
  return { ...rollups, hourKeys, firstHour: hours[0] ?? 0, lastHour: hours.at(-1) ?? 0 };
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

/** Every hour that the spans touch, in seconds, ascending. */
function hoursOf(spans: readonly Span[]): readonly number[] {
  const hours = new Set<number>();
  for (const { fromMs, toMs } of spans) {
    for (let ms = floorTo(fromMs, HOUR_MS); ms < toMs; ms += HOUR_MS) hours.add(ms / 1000);
  }
  return [...hours].sort((a, b) => a - b);
}

function isWithin(key: bigint, { fromMs, toMs }: Span): boolean {
  const hourMs = hourOf(key) * 1000;
  return hourMs >= fromMs && hourMs < toMs;
}

/** The hour of a key, in seconds since 1970. */
function hourOf(key: bigint): number {
  return (Number(key % KEY_HOURS) * HOUR_MS) / 1000;
}

export function floorTo(value: number, step: number): number {
  return Math.floor(value / step) * step;
}
