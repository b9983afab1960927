-- One row if an event names the profile, else none.
SELECT 1 AS named
FROM
(
    SELECT profileId
    FROM events
    WHERE projectId = {site:String}
        AND flushNumber <= {flushed:Array(UInt32)}[partition + 1]
        AND profileId = {profileId:String}
    LIMIT 1
    $IF_HOT$
    UNION ALL
    SELECT profileId
    FROM $HOT_EVENTS$
    WHERE projectId = {site:String} AND profileId = {profileId:String}
    LIMIT 1
    $END_HOT$
)
LIMIT 1
