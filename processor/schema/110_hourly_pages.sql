-- What happened in an hour, by page. `begun`, `bounced` and `lastedMs` are of the sessions that began on it. `sessionsWithin` is how many of the
-- sessions that saw it lie within the hour as a whole; `sessions` are the others. The store deletes old ones, a month at once
-- (HOURLY_PAGES_DAYS in rows.ts): a question about them reads days, and rows at its two ends.
CREATE TABLE IF NOT EXISTS hourly_pages
(
    projectId       LowCardinality(String) CODEC(ZSTD),
    hour            DateTime('UTC') CODEC(Delta, ZSTD),
    block           UInt64 CODEC(Delta, ZSTD),
    origin          LowCardinality(String) CODEC(ZSTD),
    path            LowCardinality(String) CODEC(ZSTD),
    title           LowCardinality(String) CODEC(ZSTD),
    screenViews     UInt64 CODEC(ZSTD),
    begun           Int64 CODEC(ZSTD),
    bounced         Int64 CODEC(ZSTD),
    lastedMs        Int64 CODEC(ZSTD),
    revenue         Map(String, Int64) CODEC(ZSTD),
    sessionsWithin  UInt64 CODEC(ZSTD),
    sessions        Array(UInt64) CODEC(T64, ZSTD),
    visitors        Array(UInt64) CODEC(T64, ZSTD)
)
ENGINE = ReplacingMergeTree(block)
PARTITION BY toYYYYMM(hour)
ORDER BY (projectId, hour, path, origin)
TTL hour + toIntervalDay(100)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, ttl_only_drop_parts = 1, old_parts_lifetime = 10, min_rows_to_fsync_after_merge = 1;
