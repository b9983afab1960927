import { REVENUE_BY_CURRENCY } from '../../processor/figures.ts';
import { shownAmounts } from './event-texts.ts';

/** The statements about groups: lists of groups and of their members, and the figures of one group. */

/** A profile is not being erased. */
const IS_STAYING = 'id NOT IN (SELECT profileId FROM erasing WHERE projectId = {site:String})';

/** The profiles that are members of a group. */
const MEMBERS = `FROM profiles FINAL
WHERE projectId = {site:String} AND has(groups, {group:String})
    AND ${IS_STAYING}`;

/** The groups of a site, described or only assigned, with their members. */
const GROUPS = `(
        SELECT
            id,
            max(record.1) AS version,
            argMax(record, record.1) AS latest,
            sum(member) AS members
        FROM
        (
            SELECT id, (version, type, name, properties, createdAt, updatedAt) AS record, 0 AS member
            FROM groups FINAL
            WHERE projectId = {site:String}
            UNION ALL
            SELECT
                arrayJoin(arrayDistinct(groups)) AS assigned,
                (
                    toUInt64(0), toLowCardinality(''), '', CAST(map(), 'Map(String, String)'),
                    toDateTime64(0, 3, 'UTC'), toDateTime64(0, 3, 'UTC')
                ) AS record,
                1 AS member
            FROM profiles FINAL
            WHERE projectId = {site:String}
                AND notEmpty(groups)
                AND ${IS_STAYING}
        )
        GROUP BY id
    )`;

/** By name of the statement. */
export const GROUP_STATEMENTS: Readonly<Record<string, string>> = {
  /** The number of groups of each type. */
  'group-types': `SELECT toString(latest.2) AS type, count() AS groups
FROM ${GROUPS}
GROUP BY type
ORDER BY groups DESC, type`,

  /** One page of the groups, by id. Version 0: no update describes the group. */
  'group-list': `SELECT
    id,
    version = 0 AS isOnlyAssigned,
    latest.2 AS type,
    if(isOnlyAssigned, id, latest.3) AS name,
    latest.4 AS properties,
    toUnixTimestamp64Milli(latest.5) AS createdMs,
    toUnixTimestamp64Milli(latest.6) AS updatedMs,
    members
FROM ${GROUPS}
WHERE id > {behindId:String}
    AND ({search:String} = ''
        OR positionCaseInsensitiveUTF8(id, {search:String}) > 0
        OR positionCaseInsensitiveUTF8(latest.3, {search:String}) > 0)
    AND ({anyType:UInt8} OR latest.2 = {type:String})
ORDER BY id
LIMIT {limit:UInt64} OFFSET {offset:UInt64}`,

  /** One page of the members of a group, by id. Rows come in the order of the table's key, so reading ends with the page. */
  'group-members': `SELECT id, firstName, lastName, email, avatar
${MEMBERS}
    AND id > {behindId:String}
ORDER BY id
LIMIT {limit:UInt64} OFFSET {offset:UInt64}`,

  /** The number of these members. */
  'group-members-total': `SELECT count() AS members
${MEMBERS}`,

  /** The events of a range that name a group or have a member of it as visitor, and the number of members among the visitors. */
  'group-events': `WITH members AS (SELECT id ${MEMBERS})
SELECT
    count() AS events,
    countIf(name = {screenView:String}) AS screenViews,
    uniqExactIf(visitor, isMember) AS activeMembers,
    ${shownAmounts(REVENUE_BY_CURRENCY)} AS revenue
FROM
(
    SELECT name, currency, revenue, isNamed, $EVENT_VISITOR$ AS visitor, visitor IN (SELECT id FROM members) AS isMember
    FROM $EVENTS[
        SELECT
            sessionId, profileId, deviceId, toString(name) AS name, toString(currency) AS currency, revenue,
            has(groups, {group:String}) AS isNamed
        WHERE $IN_SPAN$
            AND name NOT IN {synthetic:Array(String)}
            AND ($FILTER$)
    ]$ AS happened
    ANY LEFT JOIN $SPAN_PROFILES$ AS named USING (sessionId)
    WHERE isNamed OR isMember
)`,

  /** The members of a group, and their sessions that began in a range. */
  'group-sessions': `WITH members AS (SELECT id ${MEMBERS})
SELECT sum(begun) AS sessions, (SELECT count() FROM members) AS members
FROM $SESSIONS[
    SELECT toInt64(sign) AS begun
    WHERE startedAt >= fromUnixTimestamp64Milli({from:Int64})
        AND startedAt < fromUnixTimestamp64Milli({to:Int64})
        AND profileId IN (SELECT id FROM members)
        AND ($SESSION_FILTER$)
]$`,
};
