-- The pages or queries of a span of days, by clicks. `$COLUMNS$` is one of the columns. A withdrawn row has a position
-- below 0.
SELECT
    $COLUMNS$ AS word, sum(clicks) AS clickCount, sum(impressions) AS impressionCount,
    sum(position * impressions) AS positionSum
FROM search_console FINAL
WHERE projectId = {site:String}
    AND date BETWEEN {from:Date} AND {to:Date}
    AND position >= 0
    AND ({page:String} = '' OR page = {page:String})
    AND ({query:String} = '' OR query = {query:String})
    AND ({search:String} = '' OR positionCaseInsensitiveUTF8($COLUMNS$, {search:String}) > 0)
GROUP BY word
ORDER BY clickCount DESC, impressionCount DESC, word
LIMIT {limit:UInt64} OFFSET {offset:UInt64}
