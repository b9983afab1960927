import { NO_SESSION_PARTS } from '../../processor/figures.ts';
import { EVENT_COLUMNS, eventParts, IS_OF_PAGE, VIEW_COLUMNS } from './event-texts.ts';
import { SESSION_SUMS } from './session-texts.ts';
import { bucketOf, dayOf, hoursBetween, isCurrent } from './time-texts.ts';
import { combined } from './visitor-texts.ts';

/**
 * The beginning of statements with filters only on sessions: `found` has the passing sessions with all of their states,
 * `happened` the events that must be read.
 *
 * A session within one bucket (`isWhole`) gives its own counts, so its events are not read. Events are read of all
 * others: of sessions that cross an edge, or a midnight in UTC, where the site's retention may have cut them; and of
 * sessions with erased events. Events without a session are read, too. `isAsked` limits everything to the given
 * visitors.
 */
export const PASSING_SESSIONS: string = `WITH passing AS $SESSIONS[
    SELECT
        id, sign, version, screenViews, startedAt, endedAt, revenue, mixed, profileId,
        greatest(endedAt, creditedAt) AS lastAt, $VISITOR$ AS visitor
    WHERE startedAt < fromUnixTimestamp64Milli({to:Int64})
        AND greatest(endedAt, creditedAt) >= fromUnixTimestamp64Milli({earliest:Int64})
        AND ($PASSING$)
        AND $IS_ASKED$
    STORED WHERE touchedAt >= fromUnixTimestamp64Milli({touchedFrom:Int64})
]$,
found AS
(
    SELECT
        id, sign, version, screenViews, startedAt, endedAt, lastAt, revenue, visitor,
        ${bucketOf('startedAt')} AS edge,
        ${isCurrent('startedAt')} AS isCurrent,
        isCurrent OR startedAt >= fromUnixTimestamp64Milli({previousFrom:Int64})
            AND startedAt < fromUnixTimestamp64Milli({previousTo:Int64}) AS isBegun,
        isBegun
            AND lastAt < fromUnixTimestamp64Milli(if(isCurrent, {to:Int64}, {previousTo:Int64}))
            AND toDate(lastAt) = toDate(startedAt)
            AND ${bucketOf('lastAt')} = edge
            AND (mixed = 0
                OR profileId != ''
                    AND (ifNull((SELECT count() FROM thinned_sessions WHERE projectId = {site:String}), 1) = 0
                        OR id NOT IN (SELECT id FROM thinned_sessions WHERE projectId = {site:String}))) AS isWhole
    FROM passing
),
-- Visitors of states that were replaced. Whether they are still there takes a sum over \`sign\`.
replaced AS (SELECT visitor FROM found WHERE sign < 0),
reaching AS
(
    SELECT id AS sessionId, argMaxIf(visitor, version, sign > 0) AS visitor
    FROM found
    WHERE NOT isWhole
    GROUP BY id
    HAVING sum(sign) > 0
),
-- Events of these sessions, and events without a session.
happened AS
(
    SELECT createdAt, revenue, currency, isScreenView, isSynthetic, visitor
    FROM $EVENTS[
        SELECT createdAt, sessionId, ${EVENT_COLUMNS}
        WHERE $IN_SPANS$
        STORED WHERE toStartOfHour(createdAt) IN
        (
            SELECT ${hoursBetween('startedAt', 'lastAt')}
            FROM found
            WHERE NOT isWhole
        )
    ]$ AS told
    INNER JOIN reaching USING (sessionId)
    UNION ALL
    $EVENTS[
        SELECT createdAt, ${EVENT_COLUMNS}, $VISITOR$ AS visitor
        WHERE sessionId = toFixedString('', 16)
            AND $IN_SPANS$
            AND ($ALONE_FILTER$)
            AND $IS_ASKED$
    ]$
)`;

/**
 * The figures of these sessions and events by bucket, with visitors in the state of an aggregate. `alone` separates
 * visitors whose states were replaced.
 */
export function passingFigures(aggregate: string): string {
  const seen = combined(aggregate, 'IfState');
  return `(
    SELECT
        isCurrent,
        edge,
        sum(sign * screenViews * isWhole) AS viewed,
        ${seen}(visitor, isWhole AND visitor != 0 AND sign > 0) AS seen,
        sumMapIf(mapApply((code, amount) -> (code, sign * toInt128(amount)), revenue), isWhole AND notEmpty(revenue)) AS earned,
        ${SESSION_SUMS}
    FROM found
    WHERE isBegun
    GROUP BY isCurrent, edge, if(isWhole AND visitor IN (SELECT visitor FROM replaced), visitor, 0) AS alone
    HAVING alone = 0 OR begun > 0
    UNION ALL
    SELECT
        ${isCurrent('createdAt')} AS isCurrent,
        ${bucketOf('createdAt')} AS edge,
        ${eventParts((condition) => `${seen}(visitor, ${condition}) AS seen`)},
        ${NO_SESSION_PARTS}
    FROM happened
    GROUP BY isCurrent, edge
)`;
}

/** The days on which these sessions' visitors visited. `edges` are the starts of days. */
export const PASSING_VISITS: string = `SELECT visitor, ${dayOf('edge')} AS day
    FROM found
    WHERE isBegun AND isWhole AND visitor != 0
    GROUP BY visitor, day
    HAVING sum(sign) > 0
    UNION ALL
    SELECT visitor, ${dayOf(bucketOf('createdAt'))} AS day
    FROM happened
    WHERE visitor != 0 AND NOT isSynthetic`;

/**
 * The beginning for statements about pages: `views` has the views and the revenue of pages, each with hashes of its
 * session and visitor.
 */
export const PASSING_VIEWS: string = `WITH happened AS $EVENTS[
    SELECT sessionId, ${VIEW_COLUMNS}
    WHERE $IN_SPAN$
        AND ${IS_OF_PAGE}
        AND ($EVENT_FILTER$)
]$,
-- Events without a session are filtered by their own columns.
alone AS $EVENTS[
    SELECT ${VIEW_COLUMNS}, $VISITOR$ AS visitor
    WHERE sessionId = toFixedString('', 16)
        AND $IN_SPAN$
        AND ${IS_OF_PAGE}
        AND ($ALONE_FILTER$)
]$,
views AS
(
    SELECT origin, path, amount, isScreenView, session, visitor
    FROM happened
    INNER JOIN $SPAN_PASSING$ AS passing USING (sessionId)
    UNION ALL
    SELECT origin, path, amount, isScreenView, 0 AS session, visitor
    FROM alone
)`;
