-- Raw events, as acknowledged, and the synthetic session_start and session_end. Rows are only ever added.
-- One sort run per site and hour, and within it per session: a visitor's rows lie together, so the columns that repeat
-- within a visit cost next to nothing, and a question about a span of time reads little else.
CREATE TABLE IF NOT EXISTS events
(
    partition       UInt16,
    flushNumber     UInt32 CODEC(Delta, ZSTD),
    id              FixedString(16) CODEC(ZSTD),
    sessionId       FixedString(16) CODEC(ZSTD),
    projectId       LowCardinality(String),
    deviceId        String CODEC(ZSTD),
    profileId       String CODEC(ZSTD),
    eventId         String CODEC(ZSTD),
    revenue         Int64 CODEC(ZSTD),
    currency        LowCardinality(String),
    orderId         String CODEC(ZSTD),
    name            LowCardinality(String),
    createdAt       DateTime64(3, 'UTC') CODEC(Delta, ZSTD),
    receivedAt      DateTime64(3, 'UTC') CODEC(Delta, ZSTD),
    origin          LowCardinality(String),
    path            String CODEC(ZSTD),
    query           String CODEC(ZSTD),
    hash            String CODEC(ZSTD),
    title           String CODEC(ZSTD),
    referrer        String CODEC(ZSTD),
    referrerName    LowCardinality(String),
    referrerType    LowCardinality(String),
    utmSource       LowCardinality(String),
    utmMedium       LowCardinality(String),
    utmCampaign     LowCardinality(String),
    utmTerm         LowCardinality(String),
    utmContent      LowCardinality(String),
    channel         LowCardinality(String),
    country         LowCardinality(String),
    region          LowCardinality(String),
    city            LowCardinality(String),
    longitude       Float32 CODEC(ZSTD),
    latitude        Float32 CODEC(ZSTD),
    browser         LowCardinality(String),
    browserVersion  LowCardinality(String),
    os              LowCardinality(String),
    osVersion       LowCardinality(String),
    device          LowCardinality(String),
    brand           LowCardinality(String),
    model           LowCardinality(String),
    groups          Array(String) CODEC(ZSTD),
    properties      Map(String, String) CODEC(ZSTD),
    sdkName         LowCardinality(String),
    sdkVersion      LowCardinality(String),
    INDEX received receivedAt TYPE minmax GRANULARITY 1
)
ENGINE = MergeTree
ORDER BY (projectId, toStartOfHour(createdAt), sessionId, createdAt, id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 1000;
