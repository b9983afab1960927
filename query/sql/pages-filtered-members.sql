-- The pages that the given sessions and visitors viewed, in sessions that pass the filters.
WITH
passing AS
(
    SELECT
        id AS sessionId,
        $SHORT_HASH(sipHash64(id))$ AS session,
        argMaxIf($VISITOR$, version, sign > 0) AS visitor,
        min(startedAt) AS firstAt,
        max(greatest(endedAt, creditedAt)) AS lastAt
    FROM $SESSIONS[
        SELECT id, version, sign, startedAt, endedAt, creditedAt, profileId, deviceId
        WHERE startedAt < fromUnixTimestamp64Milli({to:Int64})
            AND ($PASSING$)
            AND ($SHORT_HASH(sipHash64(id))$ IN {asked:Array(UInt64)} OR $VISITOR$ IN {asked:Array(UInt64)})
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
            SELECT arrayJoin(arrayMap(
                hour -> toDateTime(hour * 3600, 'UTC'),
                range(intDiv(toUnixTimestamp(firstAt), 3600), intDiv(toUnixTimestamp(lastAt), 3600) + 1)))
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
SELECT origin, path, isVisitor, groupUniqArray(hash) AS found
FROM
(
    SELECT origin, path, arrayJoin([(0, session), (1, visitor)]) AS one, one.1 AS isVisitor, one.2 AS hash
    FROM views
)
WHERE hash IN {asked:Array(UInt64)}
GROUP BY origin, path, isVisitor
-- Few visitors have few hours, so the index finds them.
SETTINGS use_index_for_in_with_subqueries = 1
