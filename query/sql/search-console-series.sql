-- The Search Console's counts for a site on each day of two spans of days. A withdrawn row has a position below 0.
SELECT
    date AS day, sum(clicks) AS clickCount, sum(impressions) AS impressionCount,
    sum(position * impressions) AS positionSum
FROM search_console FINAL
WHERE projectId = {site:String}
    AND (date BETWEEN {from:Date} AND {to:Date} OR date BETWEEN {previousFrom:Date} AND {previousTo:Date})
    AND position >= 0
    AND ({page:String} = '' OR page = {page:String})
    AND ({query:String} = '' OR query = {query:String})
GROUP BY day
ORDER BY day
