-- Sessions that may have events on both sides of a moment, with their start; see paths/finalized-funnels.ts. Replaced
-- states count, too, so a few may have no such events any more.
SELECT lower(hex(id)) AS id, toUnixTimestamp64Milli(min(startedAt)) AS startedMs
FROM $SESSIONS[
    SELECT id, startedAt
    WHERE startedAt < fromUnixTimestamp64Milli({at:Int64})
        AND greatest(endedAt, creditedAt) >= fromUnixTimestamp64Milli({at:Int64})
    STORED WHERE touchedAt >= fromUnixTimestamp64Milli({touchedFrom:Int64})
]$
GROUP BY id
LIMIT {limit:UInt64}
