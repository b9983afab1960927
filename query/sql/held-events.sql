-- Events of a site, all or since an hour, that came with flushes behind those in memory, up to those that the owner knew to be complete.
SELECT $COLUMNS$
FROM events
WHERE projectId = {site:String}
    AND ({fromHour:UInt32} = 0 OR toStartOfHour(createdAt) >= toDateTime({fromHour:UInt32}, 'UTC'))
    AND flushNumber > {behindLeast:UInt32}
    AND flushNumber > {behind:Array(UInt32)}[partition + 1]
    AND flushNumber <= {flushed:Array(UInt32)}[partition + 1]
FORMAT RowBinary
