-- The number of a site's events, all or since an hour. It decides whether memory holds them; see held-rows/README.md.
SELECT count() AS events
FROM events
WHERE projectId = {site:String}
    AND ({fromHour:UInt32} = 0 OR toStartOfHour(createdAt) >= toDateTime({fromHour:UInt32}, 'UTC'))
FORMAT JSONEachRow
