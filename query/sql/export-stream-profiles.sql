-- A site's events as in export-stream.sql, each with the present state of its profile, without profiles that are being
-- erased. The join keeps no order. It spills to disk, and so does the sort after it: neither profiles nor events are
-- held in memory.
WITH found AS
(
    SELECT *
    FROM $EVENTS[
        SELECT $SOURCES$
        WHERE $IN_SPAN$
            AND (empty({names:Array(String)}) OR has({names:Array(String)}, name))
            AND ({profileId:String} = '' OR profileId = {profileId:String})
            AND ($FILTER$)
            AND (createdAt >= fromUnixTimestamp64Milli({nextHour:Int64})
                OR (sessionId, createdAt, id)
                    > (unhex({behindSession:String}), fromUnixTimestamp64Milli({behindAt:Int64}), unhex({behindId:String})))
    ]$ AS row
    $ORDER$
    LIMIT {limit:UInt64}
)
SELECT
    $COLUMNS$
FROM found AS row
LEFT JOIN
(
    SELECT id, firstName, lastName, email, avatar, properties, groups, createdAt, updatedAt, version
    FROM profiles FINAL
    WHERE projectId = {site:String}
        AND id NOT IN (SELECT profileId FROM erasing WHERE projectId = {site:String})
        AND $ROWS$
) AS profile ON profile.id = row.profileId
$ORDER$
FORMAT $FORMAT$
