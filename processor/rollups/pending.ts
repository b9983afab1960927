import type { StoredId } from '../../infra/accounts/ids.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import type { Store } from '../../infra/store/store.ts';
import { ADDED_ROLLUP_TABLES, ROLLUP_DIMENSIONS } from '../rows.ts';
import { type RollupUnit, startOfUnit, UNITS } from './units.ts';

/** Older times are never rolled up; questions read their rows. */
const YEARS_MAX_MS = 20 * 365 * 24 * HOUR_MS;

/**
 * The hours or days that are finalized before `endMs` and not rolled up for all sites, ascending: hours or days whose rollup was
 * interrupted, and all after the last one. Without any rollup it begins at the oldest row.
 */
export async function unrolledStarts(
  store: Store,
  unit: RollupUnit,
  { endMs, nowMs }: { readonly endMs: number; readonly nowMs: number },
): Promise<readonly number[]> {
  const { announced, column, ms } = UNITS[unit];
  const [rolled] = await store.query<{ count: number; last: number; invalidations: number[] }>(
    `SELECT count() AS count, toUnixTimestamp(max(start)) AS last,
       arraySort(groupArrayIf(toUnixTimestamp(start), lanes = 0)) AS invalidations
     FROM
     (
         SELECT ${column} AS start, argMax(length(flushed), block) AS lanes
         FROM ${announced} WHERE projectId = '' GROUP BY start
     )`,
  );
  const isFirst = rolled === undefined || rolled.count === 0;
  const starts = isFirst
    ? []
    : rolled.invalidations.map((second) => second * 1000).filter((start) => start < endMs);
  const fromMs = isFirst ? await firstStart(store, unit, nowMs) : rolled.last * 1000 + ms;
  for (let start = fromMs ?? endMs; start + ms <= endMs; start += ms) starts.push(start);
  return starts;
}

/**
 * The days rolled up by a release without all of the tables, ascending: there a site has rows of a block in the first table by
 * dimension and none in one of `ADDED_ROLLUP_TABLES`. A session that began on a day gives it rows in each of them, also in the table by name, because its
 * first event is of this day. A day on which no session of any site began stays as it is.
 */
export async function incompleteDays(store: Store): Promise<readonly number[]> {
  if (ADDED_ROLLUP_TABLES.length === 0) return [];
  const [first] = Object.keys(ROLLUP_DIMENSIONS);
  const lacks = ADDED_ROLLUP_TABLES.map(
    (table) => `(projectId, day, block) NOT IN (SELECT projectId, day, block FROM ${table})`,
  );
  const rows = await store.query<{ start: number }>(
    `SELECT DISTINCT toUnixTimestamp(day) AS start
     FROM (SELECT projectId, day, max(block) AS block FROM ${first} GROUP BY projectId, day)
     WHERE ${lacks.join(' OR ')}
     ORDER BY start`,
  );
  return rows.map(({ start }) => start * 1000);
}

/** The hour or day of the oldest row; undefined when there is none. */
async function firstStart(store: Store, unit: RollupUnit, nowMs: number): Promise<number | undefined> {
  const rows = await store.query<{ rows: number; first: number }>(
    `SELECT count() AS rows, min(toUnixTimestamp64Milli(startedAt)) AS first FROM sessions WHERE projectId != ''
     UNION ALL
     SELECT count() AS rows, min(toUnixTimestamp64Milli(createdAt)) AS first FROM events`,
  );
  const firsts = rows.flatMap(({ rows: count, first }) => (count > 0 ? [first] : []));
  if (firsts.length === 0) return undefined;
  return startOfUnit(unit, Math.max(nowMs - YEARS_MAX_MS, Math.min(...firsts)));
}

export interface LateQuestion {
  /** All marks from before this time are known to be rolled up. */
  readonly sinceMs: number;
  /** Only hours and days without a mark since this time. */
  readonly quietSinceMs: number;
  /** End of the finalized hours. */
  readonly endMs: number;
  readonly max: number;
}

/** Hours or days of one site, by their beginnings. */
export interface LateStarts {
  readonly projectId: StoredId;
  readonly startsMs: readonly number[];
}

/**
 * The hours or days of single sites to roll up again, at most `max`: marked by a flush that their rollup does not contain, or invalidated
 * by a rollup that was interrupted.
 */
export async function lateStarts(
  store: Store,
  unit: RollupUnit,
  { sinceMs, quietSinceMs, endMs, max }: LateQuestion,
): Promise<readonly LateStarts[]> {
  const rows = await store.query<{ projectId: StoredId; starts: number[] }>(lateStatement(unit), {
    since: Math.max(0, Math.floor(sinceMs / 1000)),
    quietSince: Math.ceil(quietSinceMs / 1000),
    end: Math.max(0, endMs / 1000),
    max,
  });
  return rows.map(({ projectId, starts }) => ({
    projectId,
    startsMs: starts.map((second) => second * 1000),
  }));
}

/**
 * An invalidation has a `flushed` of 0 for every lane, so every mark exceeds it; but its mark may be from before
 * `sinceMs`.
 */
function lateStatement(unit: RollupUnit): string {
  const { announced, column, startOf } = UNITS[unit];
  return `
WITH marks AS
(
    SELECT projectId, ${startOf}(hour) AS start, partition, max(flushNumber) AS flushNumber, max(markedAt) AS lastMarkedAt
    FROM late_hours
    WHERE markedAt >= toDateTime({since:UInt32}, 'UTC') AND hour < toDateTime({end:UInt32}, 'UTC')
    GROUP BY projectId, start, partition
),
blocks AS
(
    SELECT projectId, ${column} AS start, max(block) AS lastBlock, argMax(flushed, block) AS lastFlushed
    FROM ${announced}
    WHERE start IN (SELECT start FROM marks) AND (projectId = '' OR projectId IN (SELECT projectId FROM marks))
    GROUP BY projectId, start
),
invalidations AS
(
    SELECT projectId, ${column} AS start, max(block) AS lastBlock
    FROM ${announced}
    WHERE projectId != '' AND start < toDateTime({end:UInt32}, 'UTC')
    GROUP BY projectId, start
    HAVING argMax(length(flushed), block) = 0
),
stale AS
(
    SELECT marks.projectId AS projectId, marks.start AS start
    FROM marks
    LEFT JOIN (SELECT * FROM blocks WHERE projectId != '') AS own
        ON marks.projectId = own.projectId AND marks.start = own.start
    LEFT JOIN (SELECT * FROM blocks WHERE projectId = '') AS common ON marks.start = common.start
    GROUP BY projectId, start
    HAVING max(marks.flushNumber >
        if(own.lastBlock >= common.lastBlock, own.lastFlushed, common.lastFlushed)[marks.partition + 1])
        AND max(lastMarkedAt) <= toDateTime({quietSince:UInt32}, 'UTC')
),
unfinished AS
(
    SELECT invalidations.projectId AS projectId, invalidations.start AS start
    FROM invalidations
    LEFT JOIN
    (
        SELECT ${column} AS start, max(block) AS lastBlock FROM ${announced} WHERE projectId = '' GROUP BY start
    ) AS common ON invalidations.start = common.start
    WHERE invalidations.lastBlock > common.lastBlock
)
SELECT projectId, arraySort(groupArray(toUnixTimestamp(start))) AS starts
FROM
(
    SELECT projectId, start
    FROM (SELECT * FROM stale UNION DISTINCT SELECT * FROM unfinished)
    ORDER BY projectId, start
    LIMIT {max:UInt64}
)
GROUP BY projectId`;
}
