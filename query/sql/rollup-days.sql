-- The days of a span of time of which a table has rollups of the site, by block. Days that a release
-- without the table rolled up are announced and missing here; see ADDED_ROLLUP_TABLES in processor/rows.ts.
SELECT block, groupUniqArray(toUnixTimestamp(day)) AS starts
FROM $ROLLUP_TABLE$
WHERE projectId = {site:String}
    AND day >= toDateTime({first:UInt32}, 'UTC') AND day <= toDateTime({last:UInt32}, 'UTC')
GROUP BY block
