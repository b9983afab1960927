-- A site's events, unordered or in the order of the table (hour, session, time, id), so that nothing is sorted or held
-- in memory. The stream begins after the last row of an earlier one; all zeros are before every row.
SELECT
    $COLUMNS$
FROM
(
    SELECT $SOURCES$
    FROM events
    WHERE projectId = {site:String}
        AND flushNumber <= {flushed:Array(UInt32)}[partition + 1]
        AND $IN_SPAN$
        AND (empty({names:Array(String)}) OR has({names:Array(String)}, name))
        AND ({profileId:String} = '' OR profileId = {profileId:String})
        AND ($FILTER$)
        AND (createdAt >= fromUnixTimestamp64Milli({nextHour:Int64})
            OR (sessionId, createdAt, id)
                > (unhex({behindSession:String}), fromUnixTimestamp64Milli({behindAt:Int64}), unhex({behindId:String})))
    $IF_HOT$
    UNION ALL
    SELECT $SOURCES$
    FROM $HOT_EVENTS$
    WHERE projectId = {site:String}
        AND $IN_SPAN$
        AND (empty({names:Array(String)}) OR has({names:Array(String)}, name))
        AND ({profileId:String} = '' OR profileId = {profileId:String})
        AND ($HOT_FILTER$)
        AND (createdAt >= fromUnixTimestamp64Milli({nextHour:Int64})
            OR (sessionId, createdAt, id)
                > (unhex({behindSession:String}), fromUnixTimestamp64Milli({behindAt:Int64}), unhex({behindId:String})))
    $END_HOT$
) AS row
$ORDER$
LIMIT {limit:UInt64}
FORMAT $FORMAT$
