-- Events of a site that came with flushes behind those in memory, up to those that the owner knew to be complete.
SELECT $COLUMNS$
FROM events
WHERE projectId = {site:String}
    AND flushNumber > {behindLeast:UInt32}
    AND flushNumber > {behind:Array(UInt32)}[partition + 1]
    AND flushNumber <= {flushed:Array(UInt32)}[partition + 1]
FORMAT RowBinary
