-- Requests that were accepted but not recorded, by reason and name. A tally is stored again whenever it grows; only its
-- newest version counts. Tallies are by hour, and an hour belongs to the span in which it begins.
SELECT reason, name, sum(tally) AS requests
FROM
(
    SELECT reason, name, argMax(count, version) AS tally
    FROM tallies
    WHERE projectId = {site:String}
        AND hour >= fromUnixTimestamp64Milli({from:Int64})
        AND hour < fromUnixTimestamp64Milli({to:Int64})
    GROUP BY hour, reason, name, id
)
GROUP BY reason, name
ORDER BY requests DESC, reason, name
LIMIT {limit:UInt32}
