-- How many events a site has, or has had since an hour, which decides whether memory holds them; see held-rows/README.md.
SELECT count() AS events
FROM events
WHERE projectId = {site:String}
    AND ({fromHour:UInt32} = 0 OR toStartOfHour(createdAt) >= toDateTime({fromHour:UInt32}, 'UTC'))
FORMAT JSONEachRow
