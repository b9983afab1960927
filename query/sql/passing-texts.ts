import { SESSION_SUMS } from './session-texts.ts';

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
        roundDown(toUnixTimestamp64Milli(startedAt), {edges:Array(Int64)}) AS edge,
        startedAt >= fromUnixTimestamp64Milli({from:Int64}) AS isCurrent,
        isCurrent OR startedAt >= fromUnixTimestamp64Milli({previousFrom:Int64})
            AND startedAt < fromUnixTimestamp64Milli({previousTo:Int64}) AS isBegun,
        isBegun
            AND lastAt < fromUnixTimestamp64Milli(if(isCurrent, {to:Int64}, {previousTo:Int64}))
            AND toDate(lastAt) = toDate(startedAt)
            AND roundDown(toUnixTimestamp64Milli(lastAt), {edges:Array(Int64)}) = edge
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
    SELECT createdAt, name, revenue, currency, visitor
    FROM $EVENTS[
        SELECT createdAt, name, revenue, currency, sessionId
        WHERE $IN_SPANS$
        STORED WHERE toStartOfHour(createdAt) IN
        (
            SELECT arrayJoin(arrayMap(
                hour -> toDateTime(hour * 3600, 'UTC'),
                range(intDiv(toUnixTimestamp(startedAt), 3600), intDiv(toUnixTimestamp(lastAt), 3600) + 1)))
            FROM found
            WHERE NOT isWhole
        )
    ]$ AS told
    INNER JOIN reaching USING (sessionId)
    UNION ALL
    $EVENTS[
        SELECT createdAt, name, revenue, currency, $VISITOR$ AS visitor
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
  return `(
    SELECT
        isCurrent,
        edge,
        sum(sign * screenViews * isWhole) AS viewed,
        ${stateOf(aggregate)}(visitor, isWhole AND visitor != 0 AND sign > 0) AS seen,
        sumMapIf(mapApply((code, amount) -> (code, sign * toInt128(amount)), revenue), isWhole AND notEmpty(revenue)) AS earned,
        ${SESSION_SUMS}
    FROM found
    WHERE isBegun
    GROUP BY isCurrent, edge, if(isWhole AND visitor IN (SELECT visitor FROM replaced), visitor, 0) AS alone
    HAVING alone = 0 OR begun > 0
    UNION ALL
    SELECT
        createdAt >= fromUnixTimestamp64Milli({from:Int64}) AS isCurrent,
        roundDown(toUnixTimestamp64Milli(createdAt), {edges:Array(Int64)}) AS edge,
        toInt64(countIf(name = {screenView:String})) AS viewed,
        ${stateOf(aggregate)}(visitor, visitor != 0 AND name NOT IN {synthetic:Array(String)}) AS seen,
        sumMapIf(map(toString(currency), toInt128(revenue)), revenue != 0) AS earned,
        0 AS begun, 0 AS bounced, 0 AS lastedMs
    FROM happened
    GROUP BY isCurrent, edge
)`;
}

/** The sums over these rows and over the rollups of hours, as `figures.ts` reads them. */
export const FIGURE_SUMS: string = `sum(viewed) AS screenViews,
    mapApply((code, amount) -> (code, toString(amount)), sumMap(earned)) AS revenue,
    sum(begun) AS sessions,
    sum(bounced) AS bounces,
    sum(lastedMs) AS durationMs`;

/** Each visitor's days in these sessions, ascending. `edges` are the starts of days. */
export const PASSING_DAYS: string = `(
    SELECT visitor, arraySort(groupUniqArray(day)) AS days
    FROM
    (
        SELECT visitor, toUInt16(indexOf({edges:Array(Int64)}, edge)) AS day
        FROM found
        WHERE isBegun AND isWhole AND visitor != 0
        GROUP BY visitor, day
        HAVING sum(sign) > 0
        UNION ALL
        SELECT
            visitor,
            toUInt16(indexOf({edges:Array(Int64)},
                roundDown(toUnixTimestamp64Milli(createdAt), {edges:Array(Int64)}))) AS day
        FROM happened
        WHERE visitor != 0 AND name NOT IN {synthetic:Array(String)}
    )
    GROUP BY visitor
)`;

/**
 * The beginning for statements about pages: `views` has the views and the revenue of pages, each with hashes of its
 * session and visitor.
 */
export const PASSING_VIEWS: string = `WITH happened AS $EVENTS[
    SELECT origin, path, revenue, currency, sessionId, name = {screenView:String} AS isScreenView
    WHERE $IN_SPAN$
        AND (name = {screenView:String} OR revenue != 0)
        AND ($EVENT_FILTER$)
]$,
-- Events without a session are filtered by their own columns.
alone AS $EVENTS[
    SELECT origin, path, revenue, currency, name = {screenView:String} AS isScreenView, $VISITOR$ AS visitor
    WHERE sessionId = toFixedString('', 16)
        AND $IN_SPAN$
        AND (name = {screenView:String} OR revenue != 0)
        AND ($ALONE_FILTER$)
]$,
views AS
(
    SELECT origin, path, revenue, currency, isScreenView, session, visitor
    FROM happened
    INNER JOIN $SPAN_PASSING$ AS passing USING (sessionId)
    UNION ALL
    SELECT origin, path, revenue, currency, isScreenView, 0 AS session, visitor
    FROM alone
)`;

/** `uniqExact` becomes `uniqExactIfState`, and `groupUniqArray(9)` becomes `groupUniqArrayIfState(9)`. */
function stateOf(aggregate: string): string {
  return aggregate.replace(/^\w+/, (name) => `${name}IfState`);
}
