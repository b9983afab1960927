-- Every state of every session that was flushed: +1 when it became true, -1 when another one replaced it; see rows.ts.
--
-- `ended`: the session's end was written before this state of it, and is not written again. `mixed`: some events of the session name another
-- profile than the session, or none; their visitor is the session's profile. `mixedUntil` is the time of the newest event of such a session,
-- and `mixedLong` says whether that is more than a day after its start. Few are, so sessions with events in a span of time are found without
-- the others.
--
-- Times of states lie in the order of ids, so the difference to the row before is as large as the time within its hour: cut to the bits that
-- differ in a block (T64) they take 3.1 bytes, not 3.65. Times that are mostly 1970 take 0.7 bytes, not 1.2, if they are compressed as they are.
--
-- Indexes: `devices` and `profiles` find the sessions of one device or person, which lie as far apart as the visits.
CREATE TABLE IF NOT EXISTS sessions
(
    sign            Int8,
    version         UInt32 CODEC(T64, ZSTD),
    partition       UInt16 CODEC(ZSTD),
    flushNumber     UInt32 CODEC(Delta, ZSTD),
    projectId       LowCardinality(String) CODEC(ZSTD),
    deviceId        String CODEC(ZSTD),
    id              FixedString(16) CODEC(ZSTD),
    profileId       String CODEC(ZSTD),
    startedAt       DateTime64(3, 'UTC') CODEC(T64, ZSTD),
    endedAt         DateTime64(3, 'UTC') CODEC(T64, ZSTD),
    touchedAt       DateTime64(3, 'UTC') CODEC(T64, ZSTD),
    screenViews     UInt32 CODEC(ZSTD),
    otherEvents     UInt32 CODEC(ZSTD),
    revenue         Map(String, Int64) CODEC(ZSTD),
    entryAt         DateTime64(3, 'UTC') CODEC(ZSTD),
    exitAt          DateTime64(3, 'UTC') CODEC(ZSTD),
    entryIsView     UInt8 CODEC(ZSTD),
    exitIsView      UInt8 CODEC(ZSTD),
    exitOrigin      LowCardinality(String) CODEC(ZSTD),
    exitPath        LowCardinality(String) CODEC(ZSTD),
    entryOrigin     LowCardinality(String) CODEC(ZSTD),
    entryPath       LowCardinality(String) CODEC(ZSTD),
    referrer        String CODEC(ZSTD),
    referrerName    LowCardinality(String) CODEC(ZSTD),
    referrerType    LowCardinality(String) CODEC(ZSTD),
    utmSource       LowCardinality(String) CODEC(ZSTD),
    utmMedium       LowCardinality(String) CODEC(ZSTD),
    utmCampaign     LowCardinality(String) CODEC(ZSTD),
    utmTerm         LowCardinality(String) CODEC(ZSTD),
    utmContent      LowCardinality(String) CODEC(ZSTD),
    channel         LowCardinality(String) CODEC(ZSTD),
    country         LowCardinality(String) CODEC(ZSTD),
    region          LowCardinality(String) CODEC(ZSTD),
    city            LowCardinality(String) CODEC(ZSTD),
    longitude       LowCardinality(Float32) CODEC(ZSTD),
    latitude        LowCardinality(Float32) CODEC(ZSTD),
    browser         LowCardinality(String) CODEC(ZSTD),
    browserVersion  LowCardinality(String) CODEC(ZSTD),
    os              LowCardinality(String) CODEC(ZSTD),
    osVersion       LowCardinality(String) CODEC(ZSTD),
    device          LowCardinality(String) CODEC(ZSTD),
    brand           LowCardinality(String) CODEC(ZSTD),
    model           LowCardinality(String) CODEC(ZSTD),
    language        LowCardinality(String) CODEC(ZSTD),
    timezone        LowCardinality(String) CODEC(ZSTD),
    screen          LowCardinality(String) CODEC(ZSTD),
    ended           UInt8,
    mixed           UInt8,
    creditedAt      DateTime64(3, 'UTC') CODEC(ZSTD),
    mixedUntil      DateTime64(3, 'UTC') MATERIALIZED if(mixed = 1, greatest(endedAt, creditedAt), toDateTime64(0, 3, 'UTC')) CODEC(ZSTD),
    mixedLong       UInt8 MATERIALIZED (mixed = 1) AND (greatest(endedAt, creditedAt) > (startedAt + toIntervalDay(1))),
    INDEX touched touchedAt TYPE minmax GRANULARITY 1,
    INDEX devices deviceId TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX mixedUntil mixedUntil TYPE minmax GRANULARITY 1,
    INDEX mixedLong mixedLong TYPE minmax GRANULARITY 1,
    INDEX profiles profileId TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = VersionedCollapsingMergeTree(sign, version)
ORDER BY (projectId, toStartOfHour(startedAt), id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 1000,
    old_parts_lifetime = 10, min_rows_to_fsync_after_merge = 1;
