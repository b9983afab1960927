-- A site's events, all or since an hour, from flushes after the ones in memory up to the last one that the owner knew
-- to be complete.
SELECT $COLUMNS$
FROM events
WHERE projectId = {site:String}
    AND ({fromHour:UInt32} = 0 OR toStartOfHour(createdAt) >= toDateTime({fromHour:UInt32}, 'UTC'))
    AND $IS_BEHIND$
    AND $IS_HISTORY$
FORMAT RowBinary
