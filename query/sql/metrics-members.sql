-- Which of the visitors in question are in the rollups of a span: by bucket where rows may add some (`openEdges`), and under
-- one name, -1, in all others.
SELECT if(edge IN {openEdges:Array(Int64)}, edge, -1) AS bucket, groupUniqArray(visitor) AS found
FROM
(
    SELECT
        roundDown(toInt64(toUnixTimestamp(hour)) * 1000, {edges:Array(Int64)}) AS edge,
        arrayJoin(visitors) AS visitor
    FROM hourly_totals
    WHERE projectId = {site:String} AND $ROLLUP_HOURS$
)
WHERE visitor IN {asked:Array(UInt64)}
GROUP BY bucket
