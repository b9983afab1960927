-- Queries for which several pages of a site were shown, with these pages. Fragments of addresses are cut off first. A
-- withdrawn row has a position below 0.
SELECT
    query AS word, sum(pageImpressions) AS impressionCount, sum(pageClicks) AS clickCount, count() AS total,
    arraySlice(
        arraySort(
            place -> (-place.2, -place.3, place.1),
            groupArray((address, toInt64(pageClicks), toInt64(pageImpressions), pagePositions))
        ),
        1, {pagesMax:UInt32}
    ) AS places
FROM
(
    SELECT
        query, splitByChar('#', page)[1] AS address, sum(clicks) AS pageClicks,
        sum(impressions) AS pageImpressions, sum(position * impressions) AS pagePositions
    FROM search_console FINAL
    WHERE projectId = {site:String}
        AND date BETWEEN {from:Date} AND {to:Date}
        AND position >= 0
        AND query != ''
    GROUP BY query, address
    HAVING pageImpressions > 0
)
GROUP BY query
HAVING total >= 2 AND impressionCount >= {minImpressions:UInt64}
ORDER BY impressionCount DESC, word
LIMIT {limit:UInt64} OFFSET {offset:UInt64}
