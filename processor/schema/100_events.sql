-- Events as they were acknowledged, and the synthetic session_start and session_end. Rows are only added, until retention or an erasure
-- deletes them.
--
-- Order: the rows of a site's hour lie together, and within it those of a session. Most columns repeat for as long as a visit goes on, so
-- they take almost no room, and a question about a span of time reads little else.
--
-- `eventId`: the ids of our browser script (`sdkName` web) let a retry count once. They are remembered for a day, and random text takes the
-- most room of a row, so the store deletes them eight days after they came: six spare days for a processor that lags behind. Ids of other
-- senders are the customer's data and stay: their time never comes. Expiry goes by whole days and is looked for once a day, so that rows
-- are rewritten for it once a day at most.
--
-- Indexes: `received` and `flushes` pass over rows that came at another time or with another flush. `profiles` passes over the rows of other
-- people, which lie as far apart as their visits; it takes 0.15 bytes an event. Rows without a session are the first of each hour, so
-- `alone` passes over almost everything of a site that has few of them; it takes 32 bytes for 8,192 events.
--
-- Settings of every table: what is deleted leaves the disk with the old files of its table, within seconds instead of eight minutes. The
-- store keeps old files in case a power failure takes the new ones, so new files are synced before.
CREATE TABLE IF NOT EXISTS events
(
    partition       UInt16 CODEC(ZSTD),
    flushNumber     UInt32 CODEC(Delta, ZSTD),
    id              FixedString(16) CODEC(ZSTD),
    sessionId       FixedString(16) CODEC(ZSTD),
    projectId       LowCardinality(String) CODEC(ZSTD),
    deviceId        String CODEC(ZSTD),
    profileId       String CODEC(ZSTD),
    eventId         String CODEC(ZSTD) TTL if(sdkName = 'web', toStartOfDay(receivedAt) + INTERVAL 8 DAY, toDateTime('2106-02-06 00:00:00', 'UTC')),
    revenue         Int64 CODEC(ZSTD),
    currency        LowCardinality(String) CODEC(ZSTD),
    orderId         String CODEC(ZSTD),
    name            LowCardinality(String) CODEC(ZSTD),
    createdAt       DateTime64(3, 'UTC') CODEC(ZSTD),
    receivedAt      DateTime64(3, 'UTC') CODEC(Delta, ZSTD),
    origin          LowCardinality(String) CODEC(ZSTD),
    path            LowCardinality(String) CODEC(ZSTD),
    query           String CODEC(ZSTD),
    hash            String CODEC(ZSTD),
    title           LowCardinality(String) CODEC(ZSTD),
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
    groups          Array(String) CODEC(ZSTD),
    properties      Map(String, String) CODEC(ZSTD),
    sdkName         LowCardinality(String) CODEC(ZSTD),
    sdkVersion      LowCardinality(String) CODEC(ZSTD),
    INDEX received receivedAt TYPE minmax GRANULARITY 1,
    INDEX flushes flushNumber TYPE minmax GRANULARITY 1,
    INDEX profiles profileId TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX alone sessionId TYPE minmax GRANULARITY 1
)
ENGINE = MergeTree
ORDER BY (projectId, toStartOfHour(createdAt), sessionId, createdAt, id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 1000,
    merge_with_ttl_timeout = 86400, old_parts_lifetime = 10, min_rows_to_fsync_after_merge = 1;
