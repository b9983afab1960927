-- The given visitors that are in the rollups of a span: by bucket where rows may add some (`openEdges`), and for all
-- other buckets together, with -1 as edge.
SELECT if(start IN {openEdges:Array(Int64)}, start, -1) AS edge, groupUniqArray(visitor) AS visitorHashes
FROM
(
    SELECT
        roundDown(toInt64(toUnixTimestamp(hour)) * 1000, {edges:Array(Int64)}) AS start,
        arrayJoin(visitors) AS visitor
    FROM hourly_totals
    WHERE projectId = {site:String} AND $ROLLUP_HOURS$
)
WHERE visitor IN {asked:Array(UInt64)}
GROUP BY edge
