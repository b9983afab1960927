import { durationMsOf, isBounce } from '../../processor/figures.ts';
import type { ListedSessionRow } from '../insights/session-list.ts';

const QUARTER_MS = 900_000;
/** Quarters of an hour; every day of any time zone is longer. */
const WITHIN_DAY_QUARTERS = 88;

/** Sums over events of a profile. */
export interface EventFigures {
  readonly firstSeenMs: number;
  readonly lastSeenMs: number;
  readonly screenViews: number;
  readonly otherEvents: number;
  /** The quarters of an hour since 1970 that show its active days; none without events. */
  readonly quarters: readonly number[];
  /** Minor units by currency, as decimal text. */
  readonly revenue: Readonly<Record<string, string>>;
}

/** Sums over sessions of a profile. */
export interface SessionFigures extends EventFigures {
  readonly sessions: number;
  readonly durationMs: number;
  readonly p90Ms: number;
  readonly bounces: number;
  /** From the start of the first session to the start of the last one. */
  readonly betweenMs: number;
}

/** Adds up sessions like `sql/profile-metrics.sql`. */
export function figuresOfSessions(rows: readonly ListedSessionRow[]): SessionFigures {
  const began = rows.map(({ startedAt }) => startedAt);
  const durations = rows
    .map(({ startedAt, endedAt }) => durationMsOf(startedAt, endedAt))
    .sort((a, b) => a - b);
  const firstMs = rows.length === 0 ? 0 : Math.min(...began);
  return {
    firstSeenMs: firstMs,
    lastSeenMs: Math.max(0, ...rows.map(({ endedAt }) => endedAt)),
    sessions: rows.length,
    screenViews: sumOf(rows, ({ screenViews }) => screenViews),
    otherEvents: sumOf(rows, ({ otherEvents }) => otherEvents),
    durationMs: sumOf(durations, (durationMs) => durationMs),
    // By nearest rank, without interpolation between sessions.
    p90Ms: durations[Math.floor((9 * rows.length + 9) / 10) - 1] ?? 0,
    bounces: rows.filter(({ screenViews }) => isBounce(screenViews)).length,
    betweenMs: rows.length === 0 ? 0 : Math.max(...began) - firstMs,
    quarters: [...new Set(rows.flatMap(quartersOf))],
    revenue: amountsOf(rows.map(({ revenue }) => revenue)),
  };
}

/** Both figures together. Figures that events outside of sessions lack come only from sessions. */
export function withEventsAlone(sessions: SessionFigures, alone: EventFigures): SessionFigures {
  if (alone.quarters.length === 0) return sessions;
  const seen = sessions.sessions === 0 ? [alone] : [sessions, alone];
  return {
    ...sessions,
    firstSeenMs: Math.min(...seen.map(({ firstSeenMs }) => firstSeenMs)),
    lastSeenMs: Math.max(...seen.map(({ lastSeenMs }) => lastSeenMs)),
    screenViews: sessions.screenViews + alone.screenViews,
    otherEvents: sessions.otherEvents + alone.otherEvents,
    quarters: [...new Set([...sessions.quarters, ...alone.quarters])],
    revenue: amountsOf([sessions.revenue, alone.revenue]),
  };
}

/** The first and the last quarter of a session, and one every 22 hours in between. */
function quartersOf({ startedAt, endedAt }: ListedSessionRow): number[] {
  const quarters: number[] = [];
  const last = Math.floor(endedAt / QUARTER_MS);
  for (let quarter = Math.floor(startedAt / QUARTER_MS); quarter < last; quarter += WITHIN_DAY_QUARTERS)
    quarters.push(quarter);
  quarters.push(last);
  return quarters;
}

function amountsOf(maps: readonly Readonly<Record<string, string>>[]): Record<string, string> {
  const sums = new Map<string, bigint>();
  for (const map of maps)
    for (const [currency, amount] of Object.entries(map))
      sums.set(currency, (sums.get(currency) ?? 0n) + BigInt(amount));
  return Object.fromEntries([...sums].map(([currency, amount]) => [currency, String(amount)]));
}

function sumOf<Item>(items: readonly Item[], amountOf: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + amountOf(item), 0);
}
