-- What happened on a day, by page, like `hourly_pages`. The days of a page lie together, so that few pages are read without the others.
CREATE TABLE IF NOT EXISTS daily_pages
(
    projectId       LowCardinality(String) CODEC(ZSTD),
    day             DateTime('UTC') CODEC(Delta, ZSTD),
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
ORDER BY (projectId, toStartOfMonth(day), path, origin, day)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, index_granularity = 1024, old_parts_lifetime = 10, min_rows_to_fsync_after_merge = 1;
