-- What happened in an hour, and the sessions that began in it. `visitors` are hashes of 48 bits (`hashText` in rows.ts), which T64 keeps in six
-- bytes; `visitors` and `sessions` of the other rollups are such hashes too.
CREATE TABLE IF NOT EXISTS hourly_totals
(
    projectId       LowCardinality(String) CODEC(ZSTD),
    hour            DateTime('UTC') CODEC(Delta, ZSTD),
    block           UInt64 CODEC(Delta, ZSTD),
    screenViews     UInt64 CODEC(ZSTD),
    begun           Int64 CODEC(ZSTD),
    bounced         Int64 CODEC(ZSTD),
    lastedMs        Int64 CODEC(ZSTD),
    revenue         Map(String, Int64) CODEC(ZSTD),
    visitors        Array(UInt64) CODEC(T64, ZSTD)
)
ENGINE = ReplacingMergeTree(block)
ORDER BY (projectId, hour)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, old_parts_lifetime = 10, min_rows_to_fsync_after_merge = 1;
