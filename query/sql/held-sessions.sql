-- States of a site's sessions that came with flushes behind those in memory. They cannot be cut at a flush: a state that a
-- later flush replaced may be gone. So a session may be newer here than its events, as in every statement over sessions.
SELECT $COLUMNS$
FROM sessions
WHERE projectId = {site:String}
    AND flushNumber > {behindLeast:UInt32}
    AND flushNumber > {behind:Array(UInt32)}[partition + 1]
FORMAT RowBinary
