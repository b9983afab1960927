-- A site's events, unordered or in the order of the table (hour, session, time, id), so that nothing is sorted or held
-- in memory. The stream begins after the last row of an earlier one; all zeros are before every row.
SELECT
    $COLUMNS$
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
FORMAT $FORMAT$
