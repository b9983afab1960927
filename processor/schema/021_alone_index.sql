-- Where there are events outside of sessions. Rows without a session are the first of each hour, so the index passes over almost
-- everything of a site that has few of them, or none. It takes 32 bytes for 8,192 events.
ALTER TABLE events ADD INDEX IF NOT EXISTS alone sessionId TYPE minmax GRANULARITY 1;
ALTER TABLE events MATERIALIZE INDEX alone;
