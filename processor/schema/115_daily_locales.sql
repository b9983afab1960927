-- The sessions that began on a day, by language, time zone and screen: a row for each combination (ROLLUP_DIMENSIONS in rows.ts). `viewed`: their screen views.
-- `visitors`: who has sessions of it.
CREATE TABLE IF NOT EXISTS daily_locales
(
    projectId       LowCardinality(String) CODEC(ZSTD),
    day             DateTime('UTC') CODEC(Delta, ZSTD),
    block           UInt64 CODEC(Delta, ZSTD),
    language        LowCardinality(String) CODEC(ZSTD),
    timezone        LowCardinality(String) CODEC(ZSTD),
    screen          LowCardinality(String) CODEC(ZSTD),
    begun           Int64 CODEC(ZSTD),
    viewed          Int64 CODEC(ZSTD),
    bounced         Int64 CODEC(ZSTD),
    lastedMs        Int64 CODEC(ZSTD),
    revenue         Map(String, Int64) CODEC(ZSTD),
    visitors        Array(UInt64) CODEC(T64, ZSTD)
)
ENGINE = ReplacingMergeTree(block)
ORDER BY (projectId, day, language, timezone, screen)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, old_parts_lifetime = 10, min_rows_to_fsync_after_merge = 1;
