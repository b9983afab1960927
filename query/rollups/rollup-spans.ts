import { createHash } from 'node:crypto';
import { DAY_MS, HOUR_MS } from '../../infra/durations.ts';
import type { StoreParameters } from '../../infra/store/store.ts';
import type { SiteParameters } from '../snapshot/statement.ts';
import { KEY_HOURS } from '../sql/rollup-texts.ts';
import type { Span } from '../time/range.ts';
import { Otherwise } from '../ways.ts';

/** By the start of each finalized hour and day in seconds since 1970, the block with its rollup. */
export interface FinalizedBlocks {
  readonly hours: ReadonlyMap<number, number>;
  readonly days: ReadonlyMap<number, number>;
  /** Nothing happened in the hour: it is before the first rollup ever, which was made of the oldest rows, and was never changed since. */
  isEmpty(hour: number): boolean;
}

/** The rollups that may answer a question about the whole spans. A rollup must not cross an edge. */
export interface RollupUse {
  readonly spans: readonly Span[];
  readonly edges: readonly number[];
  /** Rollups of hours are used from this time on. */
  readonly hoursFromMs: number;
  /** Rollups of whole days are used, too. */
  readonly days: boolean;
}

/**
 * The division between rollups and rows, as parameters of the statements with `$ROLLUP_DAYS$`, `$ROLLUP_HOURS$` or row
 * hours. All times in seconds since 1970.
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
 * Divides a question between rollups and rows; or says why no rollup helps.
 *
 *     span        |from                                                to|
 *     UTC days    |      │  day       │  day       │  day      │          |
 *     hours    |  .  . . │            │ . . . . .  │           │  .  .  . | . |
 *               rows      rollup        hours: one    rollup      hours      rows
 *                 ↑ reaches out         was changed               ↑ not finalized,
 *                   of the span         late and is                 or hot: rows
 *                                       read from rows
 *
 * A key names the row of a rollup: its block and its hour in one number. These rows outlive the question: an hour with
 * a late change is rolled up again only after a pause (`processor/rollups/rollup-job.ts`).
 */
export function selectRollups(
  { spans, edges, hoursFromMs, days }: RollupUse,
  blocks: FinalizedBlocks | Otherwise,
): RollupSpans | Otherwise {
  if (blocks instanceof Otherwise) return blocks;
  const byDay = days ? wholeSpans(spans, edges, DAY_MS).filter((day) => blocks.days.has(day)) : [];
  const inDays = new Set(byDay);
  const isInDay = (hour: number) => inDays.has(floorTo(hour, DAY_MS / 1000));
  const byHour = wholeSpans(spans, edges, HOUR_MS).filter(
    (hour) => hour * 1000 >= hoursFromMs && blocks.hours.has(hour) && !isInDay(hour),
  );
  if (byDay.length + byHour.length === 0) return new Otherwise('nothing-finalized');
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

/** The finalized hours that a question uses, besides finalized days. */
export interface FinalizedHours {
  /** From this time on, all rollups of hours are used instead of rows. */
  readonly fromMs: number;
  /** The lookup also finds the finalized row hours from this time on and on the first day, so that their rows can be cached. */
  readonly recentFromMs: number;
}

/** Finalized hours that are read from rows, in seconds since 1970, and the blocks that identify their content. */
export interface RecentHours {
  readonly hours: readonly number[];
  readonly keys: readonly bigint[];
}

/** The finalized row hours that lie whole in the span, from `fromMs` on and on its first day. None if `fromMs` is infinite. */
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
  /** The end of the span, or the start of an hour; in a longer span the start of a day in UTC. */
  readonly untilMs: number;
  /** Identifies the content of these hours. */
  readonly key: string;
}

const CUT_BY_HOUR_MAX_MS = 8 * DAY_MS;

/** Identifies the selected rollups of a site, which never change, and other inputs of an answer. Begins with the site and a space. */
export function rollupsKeyOf({ site, dayKeys, hourKeys }: SiteParameters, about = ''): string {
  const hash = createHash('sha256').update([about, dayKeys, hourKeys].join('|'));
  return `${site} ${hash.digest('base64')}`;
}

/** The finalized part of a long span ends with a day, so that it changes once a day. A day of rows is read quickly. */
export function isCutByDay({ fromMs, toMs }: Span): boolean {
  return toMs - fromMs > CUT_BY_HOUR_MAX_MS;
}

/** All current time zones differ from UTC by whole quarters of an hour. */
const QUARTER_MS = HOUR_MS / 4;

/**
 * The finalized beginning of a span. None if its first hour is not finalized, or if the span begins at a moment: then
 * each question has another beginning.
 */
export function finalizedBeginning(
  blocks: FinalizedBlocks | Otherwise,
  span: Span,
): FinalizedBeginning | Otherwise {
  if (blocks instanceof Otherwise) return blocks;
  const { hours, isEmpty } = blocks;
  const { fromMs, toMs } = span;
  if (fromMs % QUARTER_MS !== 0) return new Otherwise('from-a-moment');
  let hour = floorTo(fromMs, HOUR_MS) / 1000;
  while (hour * 1000 < toMs && (hours.has(hour) || isEmpty(hour))) hour += HOUR_MS / 1000;
  const isWhole = hour * 1000 >= toMs;
  const cutMs = isCutByDay(span) ? floorTo(hour * 1000, DAY_MS) : hour * 1000;
  const untilMs = isWhole ? toMs : cutMs;
  if (untilMs <= fromMs) return new Otherwise('nothing-finalized');
  const key = createHash('sha256');
  for (let at = floorTo(fromMs, HOUR_MS) / 1000; at * 1000 < untilMs; at += HOUR_MS / 1000)
    key.update(`${hours.get(at) ?? 0} `);
  return { untilMs, key: `${fromMs} ${untilMs} ${key.digest('base64')}` };
}

/** Identifies the rollups of a span that needs no rows, so its answer never changes. */
export function finalizedKeyOf(rollups: RollupSpans, span: Span): string | Otherwise {
  const isFinalized = !rollups.rowHours.some(
    (hour) => hour * 1000 + HOUR_MS > span.fromMs && hour * 1000 < span.toMs,
  );
  return isFinalized ? rollupKeyOf(rollups, span) : new Otherwise('not-finalized');
}

/** Identifies the rollups of hours within a span. The rest of the span comes from rows. */
export function rollupKeyOf({ hourKeys }: RollupSpans, span: Span): string {
  const keys = hourKeys.filter((key) => isWithin(key, span)).join(' ');
  return createHash('sha256').update(keys).digest('base64');
}

/** The starts of the buckets that have hours from rows. The buckets follow each other until `endMs`. */
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

/** The hours or days that lie whole in one span, with no edge inside, in seconds, ascending. */
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
