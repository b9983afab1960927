import { STORED_SUM_MAX } from '../../infra/money.ts';
import { NO_SESSION_PARTS, REVENUE_BY_CURRENCY, sessionSums } from '../figures.ts';
import {
  EVENT_VISITOR,
  hashText,
  mixedInHours,
  NAMES_ROLLUP,
  ROLLUP_DIMENSIONS,
  sessionProfiles,
  sessionVisitorHash,
} from '../rows.ts';
import { type RollupUnit, UNITS } from './units.ts';

/** The rows that a statement covers: rows of one site (parameter `site`), or of all. */
export interface RollupStatement {
  readonly unit: RollupUnit;
  readonly isOneSite: boolean;
}

// Money is added in 128 bits, and stored sums are bounded by a column of 64.
const NO_AMOUNTS = "CAST(map(), 'Map(String, Int128)')";
const BOUND = `toInt128('${STORED_SUM_MAX}')`;
// `clamp`, because the store compiles `least(greatest(…))` from its fourth run on, and then it is wrong in 128 bits.
const EARNED = `mapApply((currency, amount) -> (currency, toInt64(clamp(amount, -${BOUND}, ${BOUND}))),
        mapFilter((currency, amount) -> amount != 0, sumMap(amounts))) AS revenue`;
/** A session may have changed its values since; its states then add up to nothing, and such rows are left out. */
const SAYS_SOMETHING =
  'sum(viewed) != 0 OR sum(begun) != 0 OR sum(bounced) != 0 OR sum(lastedMs) != 0 OR notEmpty(revenue)';
const ENTERED = sessionSums('part');

/**
 * Totals of an hour: its events, and the sessions that began in it. Days need no table of their own, because a year has
 * few hours.
 */
export function totalsStatement({ isOneSite }: Pick<RollupStatement, 'isOneSite'>): string {
  return `
INSERT INTO hourly_totals (projectId, hour, block, screenViews, begun, bounced, lastedMs, revenue, visitors)
SELECT
    projectId, hour, {block:UInt64},
    sum(viewed), sum(begun), sum(bounced), sum(lastedMs), ${EARNED}, groupUniqArrayArray(visitorHashes) AS visitors
FROM
(
    SELECT
        projectId, toStartOfHour(createdAt) AS hour,
        countIf(name = {screenView:String}) AS viewed,
        ${NO_SESSION_PARTS},
        ${REVENUE_BY_CURRENCY} AS amounts,
        groupUniqArrayIf(${hashText('visitor')}, visitor != '' AND name NOT IN {synthetic:Array(String)}) AS visitorHashes
    FROM ${eventsWithVisitors('name, revenue, currency', isMeant('createdAt', isOneSite), isOneSite)}
    GROUP BY projectId, hour
    UNION ALL
    SELECT
        projectId, toStartOfHour(startedAt) AS hour, 0 AS viewed, ${ENTERED},
        ${NO_AMOUNTS} AS amounts, [] AS visitorHashes
    FROM sessions
    WHERE ${isMeant('startedAt', isOneSite)}
    GROUP BY projectId, hour
)
GROUP BY projectId, hour
HAVING ${SAYS_SOMETHING} OR notEmpty(visitors)`;
}

/**
 * The same by page, of hours or days. A session whose events all lie within one hour or day is in no other, so a count is enough; the few
 * longer ones need hashes.
 *
 * An event that extends a session also changes the hour in which the session began (`noteChange` in batch.ts), so both are rolled up again.
 */
export function pagesStatement({ unit, isOneSite }: RollupStatement): string {
  const { column, startOf, pages } = UNITS[unit];
  const viewed = `${isMeant('createdAt', isOneSite)} AND (name = {screenView:String} OR revenue != 0)`;
  return `
INSERT INTO ${pages}
    (projectId, ${column}, block, origin, path, title, screenViews, begun, bounced, lastedMs, revenue,
     sessionsWithin, sessions, visitors)
WITH whole AS
(
    SELECT id
    FROM sessions
    WHERE ${isMeant('startedAt', isOneSite)}
    GROUP BY projectId, id
    HAVING sum(sign * (${startOf}(startedAt) = ${startOf}(endedAt))) > 0
)
SELECT
    projectId, ${column}, {block:UInt64}, origin, path, max(lastTitle),
    sum(viewed), sum(begun), sum(bounced), sum(lastedMs), ${EARNED},
    sum(within), groupUniqArrayArray(sessionHashes), groupUniqArrayArray(visitorHashes)
FROM
(
    SELECT
        projectId, ${startOf}(createdAt) AS ${column}, origin, path,
        argMaxIf(title, (createdAt, id), name = {screenView:String} AND title != '') AS lastTitle,
        countIf(name = {screenView:String}) AS viewed,
        ${NO_SESSION_PARTS},
        ${REVENUE_BY_CURRENCY} AS amounts,
        uniqExactIf(sessionId, name = {screenView:String} AND sessionId IN (SELECT id FROM whole)) AS within,
        groupUniqArrayIf(${hashText('sessionId')},
            name = {screenView:String} AND sessionId != toFixedString('', 16) AND sessionId NOT IN (SELECT id FROM whole)) AS sessionHashes,
        groupUniqArrayIf(${hashText('visitor')}, name = {screenView:String} AND visitor != '') AS visitorHashes
    FROM ${eventsWithVisitors('id, name, origin, path, title, revenue, currency', viewed, isOneSite)}
    GROUP BY projectId, ${column}, origin, path
    UNION ALL
    SELECT
        projectId, ${startOf}(startedAt) AS ${column}, entryOrigin AS origin, entryPath AS path, '' AS lastTitle,
        0 AS viewed, ${ENTERED}, ${NO_AMOUNTS} AS amounts,
        0 AS within, [] AS sessionHashes, [] AS visitorHashes
    FROM sessions
    WHERE ${isMeant('startedAt', isOneSite)}
    GROUP BY projectId, ${column}, origin, path
)
GROUP BY projectId, ${column}, origin, path
HAVING ${SAYS_SOMETHING}`;
}

/**
 * The sessions that began on a day, by each group of dimensions. A session's visitor and values may change later, so a
 * visitor counts where sessions of theirs remain after all states are added up. Without a visitor the hash is 0.
 */
export function dimensionStatements({ isOneSite }: Pick<RollupStatement, 'isOneSite'>): readonly string[] {
  return Object.entries(ROLLUP_DIMENSIONS).map(([table, dimensions]) => {
    const names = dimensions.join(', ');
    return `
INSERT INTO ${table} (projectId, day, block, ${names}, begun, viewed, bounced, lastedMs, revenue, visitors)
SELECT
    projectId, day, {block:UInt64}, ${names},
    sum(begun), sum(viewed), sum(bounced), sum(lastedMs), ${EARNED},
    groupArrayIf(visitor, visitor != 0 AND begun > 0)
FROM
(
    SELECT
        projectId, toStartOfDay(startedAt) AS day, ${names},
        ${sessionVisitorHash()} AS visitor,
        ${ENTERED},
        sum(sign * screenViews) AS viewed,
        sumMap(mapApply((currency, amount) -> (currency, toInt128(amount) * sign), revenue)) AS amounts
    FROM sessions
    WHERE ${isMeant('startedAt', isOneSite)}
    GROUP BY projectId, day, ${names}, visitor
)
GROUP BY projectId, day, ${names}
HAVING ${SAYS_SOMETHING}`;
  });
}

/** Number of events of a day by name, whatever their session or visitor. */
export function namesStatement({ isOneSite }: Pick<RollupStatement, 'isOneSite'>): string {
  return `
INSERT INTO ${NAMES_ROLLUP} (projectId, day, block, name, events)
SELECT projectId, toStartOfDay(createdAt) AS day, {block:UInt64}, name, count()
FROM events
WHERE ${isMeant('createdAt', isOneSite)}
GROUP BY projectId, day, name`;
}

/** Rows of events that meet `condition`, with their `visitor`, for a FROM clause. */
function eventsWithVisitors(columns: string, condition: string, isOneSite: boolean): string {
  const ofSites = mixedInHours('{hours:Array(UInt32)}').map((within) => `${ofSite(isOneSite)} AND ${within}`);
  return `
    (
        SELECT *, ${EVENT_VISITOR} AS visitor
        FROM
        (
            SELECT projectId, createdAt, sessionId, profileId, deviceId, ${columns}
            FROM events
            WHERE ${condition}
        ) AS happened
        ANY LEFT JOIN (${sessionProfiles(...ofSites)}) AS named USING (projectId, sessionId)
    )`;
}

function ofSite(isOneSite: boolean): string {
  return isOneSite ? 'projectId = {site:String}' : "projectId != ''";
}

/** Rows of the listed hours, a day being 24 of them: the tables are sorted by the hour. */
function isMeant(column: string, isOneSite: boolean): string {
  return `${ofSite(isOneSite)} AND toStartOfHour(${column}) IN (SELECT toDateTime(arrayJoin({hours:Array(UInt32)}), 'UTC'))`;
}
