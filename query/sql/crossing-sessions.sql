-- Sessions that may have events on both sides of a moment, with their start; see paths/finalized-funnels.ts. Replaced
-- states count, too, so a few may have no such events any more.
$IF_HOT$ WITH hot AS $HOT_STATES$ $END_HOT$
SELECT lower(hex(id)) AS id, toUnixTimestamp64Milli(min(startedAt)) AS startedMs
FROM
(
    SELECT id, startedAt
    FROM sessions
    WHERE projectId = {site:String}
        AND touchedAt >= fromUnixTimestamp64Milli({touchedFrom:Int64})
        AND startedAt < fromUnixTimestamp64Milli({at:Int64})
        AND greatest(endedAt, creditedAt) >= fromUnixTimestamp64Milli({at:Int64})
    $IF_HOT$
    UNION ALL
    SELECT id, startedAt
    FROM hot
    WHERE startedAt < fromUnixTimestamp64Milli({at:Int64})
        AND greatest(endedAt, creditedAt) >= fromUnixTimestamp64Milli({at:Int64})
    $END_HOT$
)
GROUP BY id
LIMIT {limit:UInt64}
