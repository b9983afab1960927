-- States of a site's sessions from flushes after the ones in memory. They cannot be cut at a flush: a later flush may
-- have replaced a state. So a session may be newer here than its events, as in every statement over sessions.
SELECT $COLUMNS$
FROM sessions
WHERE projectId = {site:String}
    AND $IS_BEHIND$
    -- With an hour: sessions that began since, and mixed sessions with events since, because their profile is the
    -- visitor of these events.
    AND ({fromHour:UInt32} = 0
        OR startedAt >= toDateTime64({fromHour:UInt32}, 3, 'UTC') - INTERVAL 25 HOUR
            AND (startedAt >= toDateTime64({fromHour:UInt32}, 3, 'UTC')
                OR mixed = 1 AND mixedUntil >= toDateTime64({fromHour:UInt32}, 3, 'UTC'))
        OR mixedLong = 1 AND mixedUntil >= toDateTime64({fromHour:UInt32}, 3, 'UTC'))
FORMAT RowBinary
