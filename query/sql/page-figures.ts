import { NO_SESSION_PARTS, partSums, SESSION_PARTS } from '../../processor/figures.ts';
import { IS_OF_PAGE, rowEvents, VIEW_COLUMNS } from './event-texts.ts';
import { PASSING_VIEWS } from './passing-texts.ts';
import { sentHashes, shortHash } from './rollup-texts.ts';
import { ENTERED, IS_REQUESTED, rowSessions } from './session-texts.ts';
import { BY_INDEX, hoursBetween, inSpan } from './time-texts.ts';

/**
 * The statements of `pages`: a page's screen views, sessions and visitors, the revenue of all events on it, and the sessions that entered on it.
 *
 * Views come from four places: events of the whole span, events of its row hours, sessions with filters (`passing-texts.ts`), and rollups of
 * days and hours. A page's visitors are the union over its hours and days, and so are the sessions that exceed one; all other sessions are a
 * plain count (`processor/rollups`).
 */

/** On rows of pages: with a requested path. */
const IS_NAMED = '({every:UInt8} OR path IN {paths:Array(String)})';
/** The figures of a session's entry page, as in answers. */
const ENTRIES = partSums().replace(' AS sessions', ' AS entries');

/** Rollups of the requested pages. */
function rollups(start: 'day' | 'hour', table: string, selected: string): string {
  return `
        SELECT
            toUnixTimestamp(${start}) AS at, origin, path, title AS lastTitle, screenViews AS viewed,
            toInt128(revenue[{currency:String}]) AS earned, ${SESSION_PARTS},
            sessionsWithin AS within, sessions AS sessionHashes, visitors AS visitorHashes
        FROM ${table}
        WHERE projectId = {site:String} AND ${selected} AND ${IS_NAMED}`;
}
const ROLLUPS = `${rollups('day', 'daily_pages', '$ROLLUP_DAYS$')}
        UNION ALL${rollups('hour', 'hourly_pages', '$ROLLUP_HOURS$')}`;

/** The sums of a page's rollups, without its visitors and the sessions that exceed an hour or day. */
const ROLLUP_SUMS = `maxIf(at, lastTitle != '') AS titleAt,
            argMaxIf(lastTitle, at, lastTitle != '') AS title,
            sum(viewed) AS pageviews,
            toString(sum(earned)) AS revenue,
            ${ENTRIES},
            sum(within) AS sessionsWithin`;

/** The latest title among views. */
const LAST_TITLE = "argMaxIf(title, (createdAt, id), isScreenView AND title != '')";
const TITLED_AT = "toUnixTimestamp(maxIf(createdAt, isScreenView AND title != ''))";

/** Views of the row hours, with hashes of their session and visitor. */
const ROW_VIEWS = rowEvents(`title, id, createdAt, $SESSION$ AS session, ${VIEW_COLUMNS}`, 'one', IS_OF_PAGE);
const VIEWED_BY = 'isScreenView AND visitor != 0';
const VIEWED_IN = 'isScreenView AND session != 0';

const SHORT_SESSION = shortHash('session');
const SHORT_ID = shortHash('sipHash64(id)');

/** The columns of views that identify a session and a visitor. */
interface ViewedBy {
  readonly session: string;
  /** The values of views without a session, and without a visitor. */
  readonly noSession: string;
  readonly noVisitor: string;
}

function viewFigures({ session, noSession, noVisitor }: ViewedBy): string {
  return `uniqExactIf(${session}, isScreenView AND ${session} != ${noSession}) AS sessions,
        countIf(isScreenView) AS pageviews,
        uniqExactIf(visitor, isScreenView AND visitor != ${noVisitor}) AS visitors,
        toString(sum(toInt128(amount))) AS revenue`;
}
const BY_TEXTS: ViewedBy = { session: 'sessionId', noSession: "toFixedString('', 16)", noVisitor: "''" };
const BY_HASHES: ViewedBy = { session: 'session', noSession: '0', noVisitor: '0' };

/** A page of the ranking. The rows are cut before the sessions are looked up that began on them. */
function ranked(before: string, figures: string, views: string): string {
  return `${before},
ranked AS
(
    SELECT origin, path, ${figures}
    FROM ${views}
    GROUP BY origin, path
    HAVING pageviews > 0
    ORDER BY sessions DESC, path, origin
    LIMIT {limit:UInt64} OFFSET {offset:UInt64}
),
${ENTERED}
SELECT ranked.*, entered.begun AS entries, entered.bounced AS bounces, entered.lastedMs AS durationMs
FROM ranked
LEFT JOIN entered USING (origin, path)
ORDER BY sessions DESC, path, origin`;
}

/** The latest titles of the pages with the named paths. */
function titles(stored: string, columns: string): string {
  return `SELECT origin, path, argMax(title, (createdAt, id)) AS lastTitle${columns}
FROM $EVENTS[
    SELECT origin, path, title, createdAt, id
    WHERE $IN_SPAN$ AND name = {screenView:String} AND title != '' AND path IN {paths:Array(String)}
    ${stored}
]$
GROUP BY origin, path`;
}

/** The given sessions and visitors of pages, from rows with an `isVisitor` and a `hash`. */
function members(rows: string): string {
  return `SELECT origin, path, isVisitor, groupUniqArray(hash) AS found
FROM (${rows})
WHERE hash IN {asked:Array(UInt64)}
GROUP BY origin, path, isVisitor`;
}

/** By name of the statement. */
export const PAGE_FIGURES: Readonly<Record<string, string>> = {
  pages: ranked(
    `WITH happened AS $EVENTS[
    SELECT title, id, createdAt, sessionId, profileId, deviceId, ${VIEW_COLUMNS}
    WHERE $IN_SPAN$
        AND ${IS_OF_PAGE}
        AND ($FILTER$)
]$`,
    `${LAST_TITLE} AS title, ${viewFigures(BY_TEXTS)}`,
    `(
        SELECT *, $EVENT_VISITOR$ AS visitor
        FROM happened
        ANY LEFT JOIN $SPAN_PROFILES$ AS named USING (sessionId)
    )`,
  ),

  /** With filters on sessions and without titles: `page-titles` has these, whatever the filters. */
  'pages-filtered': ranked(PASSING_VIEWS, viewFigures(BY_HASHES), 'views'),

  /** Without filters: selected days and hours from rollups, all other hours from rows. */
  'pages-rollup': `WITH withNames AS
(
    ${ROLLUPS}
    UNION ALL
    SELECT
        ${TITLED_AT} AS at,
        origin,
        path,
        ${LAST_TITLE} AS lastTitle,
        countIf(isScreenView) AS viewed,
        sum(toInt128(amount)) AS earned,
        ${NO_SESSION_PARTS}, 0 AS within,
        groupUniqArrayIf(session, ${VIEWED_IN}) AS sessionHashes,
        groupUniqArrayIf(visitor, ${VIEWED_BY}) AS visitorHashes
    FROM ${ROW_VIEWS}
    GROUP BY origin, path
)
-- The last row has the highest number of sessions of an unnamed page in the rows.
SELECT
    isNamed,
    if(isNamed, origin, '') AS origin,
    if(isNamed, path, '') AS path,
    argMaxIf(lastTitle, at, isNamed AND lastTitle != '') AS title,
    sumIf(within, isNamed) + uniqExactArrayIf(sessionHashes, isNamed) AS sessions,
    maxIf(length(sessionHashes), NOT isNamed) AS sessionsMax,
    sum(viewed) AS pageviews,
    uniqExactArrayIf(visitorHashes, isNamed) AS visitors,
    toString(sum(earned)) AS revenue,
    ${ENTRIES}
FROM
(
    SELECT *, ${IS_NAMED} AS isNamed
    FROM withNames
)
GROUP BY isNamed, origin, path
HAVING pageviews > 0 OR NOT isNamed
ORDER BY isNamed DESC, sessions DESC, path, origin
${BY_INDEX}`,

  /**
   * The pages with the most sessions in rollups, with a session counted in each of its hours or days: `bound` is an upper bound of a page's
   * sessions in the rollups.
   */
  'pages-candidates': `SELECT path, sum(counted) AS bound
FROM
(
    SELECT origin, path, screenViews AS viewed, sessionsWithin + sessions.size0 AS counted
    FROM daily_pages
    WHERE projectId = {site:String} AND $ROLLUP_DAYS$
    UNION ALL
    SELECT origin, path, screenViews AS viewed, sessionsWithin + sessions.size0 AS counted
    FROM hourly_pages
    WHERE projectId = {site:String} AND $ROLLUP_HOURS$
)
GROUP BY origin, path
HAVING sum(viewed) > 0
ORDER BY bound DESC, path, origin
LIMIT {ranked:UInt64}`,

  /**
   * For the cache (`rollups/rollup-cache.ts`): the rollups of the pages with the named paths, or of every page, with their visitors and
   * sessions, unless they are too many. `reaching` counts sessions that exceed an hour or day.
   */
  'pages-finalized': `SELECT
    * EXCEPT (cachedSessions, cachedVisitors, allSessions, allVisitors),
    ${sentHashes('cachedSessions')} AS sessionHashes,
    ${sentHashes('cachedVisitors')} AS visitorHashes
FROM
(
    SELECT
        *,
        length(allSessions) AS reaching,
        length(allVisitors) AS visitors,
        sum(reaching + visitors) OVER () <= {hashesMax:UInt64} AS isCached,
        if(isCached, allSessions, []) AS cachedSessions,
        if(isCached, allVisitors, []) AS cachedVisitors
    FROM
    (
        SELECT
            origin,
            path,
            ${ROLLUP_SUMS},
            groupUniqArrayArray($CACHED_HASHES_MAX$)(sessionHashes) AS allSessions,
            groupUniqArrayArray($CACHED_HASHES_MAX$)(visitorHashes) AS allVisitors
        FROM (${ROLLUPS})
        GROUP BY origin, path
    )
)`,

  /** The same for too many visitors and sessions to cache: only their exact numbers. */
  'pages-counted': `SELECT
    origin,
    path,
    ${ROLLUP_SUMS},
    uniqExactArray(sessionHashes) AS reaching,
    uniqExactArray(visitorHashes) AS visitors
FROM (${ROLLUPS})
GROUP BY origin, path`,

  /** The given sessions and visitors that are in these rollups. */
  'pages-members': members(`
    SELECT origin, path, 0 AS isVisitor, arrayJoin(sessionHashes) AS hash
    FROM (${ROLLUPS})
    UNION ALL
    SELECT origin, path, 1 AS isVisitor, arrayJoin(visitorHashes) AS hash
    FROM (${ROLLUPS})
`),

  /** The views of the named pages, or of every page, in the row hours. The last row has the highest number of sessions of an unnamed page. */
  'pages-rows': `SELECT
    isNamed,
    if(isNamed, origin, '') AS origin,
    if(isNamed, path, '') AS path,
    anyIf(titleAt, isNamed) AS titleAt,
    anyIf(lastTitle, isNamed) AS title,
    sum(viewed) AS pageviews,
    toString(sum(earned)) AS revenue,
    max(length(bySession)) AS sessionsMax,
    anyIf(bySession, isNamed) AS sessionHashes,
    anyIf(byVisitor, isNamed) AS visitorHashes
FROM
(
    SELECT
        origin,
        path,
        ${IS_NAMED} AS isNamed,
        ${TITLED_AT} AS titleAt,
        ${LAST_TITLE} AS lastTitle,
        countIf(isScreenView) AS viewed,
        sum(toInt128(amount)) AS earned,
        groupUniqArrayIf($ROW_HASHES_MAX$)(session, ${VIEWED_IN}) AS bySession,
        groupUniqArrayIf($ROW_HASHES_MAX$)(visitor, ${VIEWED_BY}) AS byVisitor
    FROM ${ROW_VIEWS}
    GROUP BY origin, path
)
GROUP BY isNamed, origin, path
${BY_INDEX}`,

  /** The sessions that began in the row hours, by their entry page. */
  'pages-entered': `SELECT *
FROM
(
    SELECT origin, path, ${ENTRIES}
    FROM ${rowSessions(
      'origin, path',
      'entryOrigin AS origin, entryPath AS path',
      `${inSpan('startedAt')} AND ({every:UInt8} OR entryPath IN {paths:Array(String)})`,
    )}
    GROUP BY origin, path
)
WHERE entries != 0 OR bounces != 0 OR durationMs != 0
${BY_INDEX}`,

  /** With filters on sessions: all pages, also without views, and the given sessions and visitors that viewed them. */
  'pages-filtered-counted': `${PASSING_VIEWS}
SELECT
    origin,
    path,
    ${viewFigures(BY_HASHES)},
    groupUniqArrayIf(${SHORT_SESSION}, isScreenView AND ${SHORT_SESSION} IN {asked:Array(UInt64)}) AS sessionHashes,
    groupUniqArrayIf(visitor, isScreenView AND visitor IN {asked:Array(UInt64)}) AS visitorHashes
FROM views
GROUP BY origin, path
LIMIT {most:UInt32}`,

  /** The same with the sessions and visitors themselves. */
  'pages-filtered-rows': `${PASSING_VIEWS}
SELECT
    origin,
    path,
    countIf(isScreenView) AS pageviews,
    toString(sum(toInt128(amount))) AS revenue,
    groupUniqArrayIf($ROW_HASHES_MAX$)(${SHORT_SESSION}, ${VIEWED_IN}) AS sessionHashes,
    groupUniqArrayIf($ROW_HASHES_MAX$)(visitor, ${VIEWED_BY}) AS visitorHashes
FROM views
GROUP BY origin, path`,

  /** The given sessions and visitors that viewed the pages, in sessions that pass the filters. They have few hours. */
  'pages-filtered-members': `WITH
passing AS
(
    SELECT
        id AS sessionId,
        ${SHORT_ID} AS session,
        argMaxIf($VISITOR$, version, sign > 0) AS visitor,
        min(startedAt) AS firstAt,
        max(greatest(endedAt, creditedAt)) AS lastAt
    FROM $SESSIONS[
        SELECT id, version, sign, startedAt, endedAt, creditedAt, profileId, deviceId
        WHERE startedAt < fromUnixTimestamp64Milli({to:Int64})
            AND ($PASSING$)
            AND (${SHORT_ID} IN {asked:Array(UInt64)} OR $VISITOR$ IN {asked:Array(UInt64)})
        STORED WHERE touchedAt >= fromUnixTimestamp64Milli({touchedFrom:Int64})
    ]$
    GROUP BY id
    HAVING sum(sign) > 0
),
views AS
(
    SELECT origin, path, session, visitor
    FROM $EVENTS[
        SELECT origin, path, sessionId
        WHERE $IN_SPAN$
            AND name = {screenView:String}
        STORED WHERE toStartOfHour(createdAt) IN
        (
            SELECT ${hoursBetween('firstAt', 'lastAt')}
            FROM passing
        )
    ]$ AS happened
    INNER JOIN passing USING (sessionId)
    UNION ALL
    $EVENTS[
        SELECT origin, path, 0 AS session, $VISITOR$ AS visitor
        WHERE sessionId = toFixedString('', 16)
            AND $IN_SPAN$
            AND name = {screenView:String}
            AND ($ALONE_FILTER$)
            AND $VISITOR$ IN {asked:Array(UInt64)}
    ]$
)
${members(`
    SELECT origin, path, arrayJoin([(0, session), (1, visitor)]) AS one, one.1 AS isVisitor, one.2 AS hash
    FROM views
`)}
${BY_INDEX}`,

  /** The latest titles in a span. */
  'page-titles': titles('', ''),

  /** The same in its row hours. No finalized hour or day overlaps with them, so the later title is the latest. */
  'page-titles-rows': `${titles('STORED WHERE $IN_ROW_HOURS$', ', toUnixTimestamp(max(createdAt)) AS titledAt')}
${BY_INDEX}`,

  /** For the cache: the same in rollups. The start of a day or hour is comparable with the times of rows. */
  'page-titles-finalized': `SELECT origin, path, max(at) AS titledAt, argMax(title, at) AS lastTitle
FROM
(
    SELECT at, origin, path, lastTitle AS title
    FROM (${ROLLUPS})
)
WHERE title != ''
GROUP BY origin, path`,

  /** The sessions that viewed a named page and reached a goal in the span: the goal is part of the condition on events. */
  'page-conversions': `SELECT
    origin AS prefix,
    path AS name,
    uniqExact(sessionId) AS conversions,
    uniqExactIf(visitor, visitor != '') AS visitors
FROM
(
    SELECT origin, path, sessionId, $EVENT_VISITOR$ AS visitor
    FROM $EVENTS[
        SELECT origin, path, sessionId, profileId, deviceId
        WHERE $IN_SPAN$
            AND name = {screenView:String}
            AND path IN {names:Array(String)}
            AND ($FILTER$)
    ]$ AS happened
    ANY LEFT JOIN $SPAN_PROFILES$ AS named USING (sessionId)
)
WHERE ${IS_REQUESTED}
GROUP BY prefix, name`,
};
