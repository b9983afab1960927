-- How many events a site has, or has since an hour: whether these are few enough to be held in memory; see small-sites/README.md.
SELECT count() AS events
FROM events
WHERE projectId = {site:String}
    AND ({fromHour:UInt32} = 0 OR toStartOfHour(createdAt) >= toDateTime({fromHour:UInt32}, 'UTC'))
FORMAT JSONEachRow
