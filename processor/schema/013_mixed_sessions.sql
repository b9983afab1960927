-- Sessions of which some events name another profile than the session, or none: their visitor is the session's profile
-- (SESSIONS_COLUMNS in rows.ts). Older rows do not say so, and may all be such.
ALTER TABLE sessions ADD COLUMN IF NOT EXISTS mixed UInt8 DEFAULT profileId != '';
ALTER TABLE sessions ADD COLUMN IF NOT EXISTS creditedAt DateTime64(3, 'UTC')
    DEFAULT if(profileId != '', touchedAt + toIntervalMinute(1), toDateTime64(0, 3, 'UTC')) CODEC(Delta, ZSTD);
-- The newest event of a mixed session, and whether that is more than a day after its beginning: few sessions are, so
-- that those with events in a span of time are found without reading the others.
ALTER TABLE sessions ADD COLUMN IF NOT EXISTS mixedUntil DateTime64(3, 'UTC')
    MATERIALIZED if(mixed = 1, greatest(endedAt, creditedAt), toDateTime64(0, 3, 'UTC')) CODEC(Delta, ZSTD);
ALTER TABLE sessions ADD COLUMN IF NOT EXISTS mixedLong UInt8
    MATERIALIZED mixed = 1 AND greatest(endedAt, creditedAt) > startedAt + toIntervalDay(1);
ALTER TABLE sessions ADD INDEX IF NOT EXISTS mixedUntil mixedUntil TYPE minmax GRANULARITY 1;
ALTER TABLE sessions ADD INDEX IF NOT EXISTS mixedLong mixedLong TYPE minmax GRANULARITY 1;
-- Rollups counted every event's own visitor. They are made again from rows; until then questions read rows.
TRUNCATE TABLE IF EXISTS rollup_blocks;
TRUNCATE TABLE IF EXISTS rollup_days;
TRUNCATE TABLE IF EXISTS hourly_totals;
TRUNCATE TABLE IF EXISTS hourly_pages;
TRUNCATE TABLE IF EXISTS daily_pages;
TRUNCATE TABLE IF EXISTS daily_sources;
TRUNCATE TABLE IF EXISTS daily_places;
TRUNCATE TABLE IF EXISTS daily_devices;
