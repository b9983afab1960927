-- Frequent queries at positions where more people should click. `expected` has the rate of each position from 1. A
-- withdrawn row has a position below 0.
SELECT word, clickCount, impressionCount, positionSum
FROM
(
    SELECT
        query AS word, sum(clicks) AS clickCount, sum(impressions) AS impressionCount,
        sum(position * impressions) AS positionSum,
        positionSum / impressionCount AS average,
        {expected:Array(Float64)}[toUInt32(floor(average + 0.5))] AS expectedCtr
    FROM search_console FINAL
    WHERE projectId = {site:String}
        AND date BETWEEN {from:Date} AND {to:Date}
        AND position >= 0
        AND query != ''
        AND ({search:String} = '' OR positionCaseInsensitiveUTF8(query, {search:String}) > 0)
    GROUP BY word
    HAVING impressionCount >= {minImpressions:UInt64}
        AND average BETWEEN {firstPosition:Float64} AND {lastPosition:Float64}
        AND clickCount < impressionCount * expectedCtr
)
ORDER BY impressionCount * expectedCtr - clickCount DESC, impressionCount DESC, word
LIMIT {limit:UInt64} OFFSET {offset:UInt64}
