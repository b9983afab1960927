-- How many events a site has: whether it is small enough to be held in memory; see small-sites/README.md.
SELECT count() AS events
FROM events
WHERE projectId = {site:String}
FORMAT JSONEachRow
