-- How many rows of `events` a site has of each name on a day, the synthetic session_start and session_end included.
CREATE TABLE IF NOT EXISTS daily_names
(
    projectId       LowCardinality(String) CODEC(ZSTD),
    day             DateTime('UTC') CODEC(Delta, ZSTD),
    block           UInt64 CODEC(Delta, ZSTD),
    name            LowCardinality(String) CODEC(ZSTD),
    events          UInt64 CODEC(T64, ZSTD)
)
ENGINE = ReplacingMergeTree(block)
ORDER BY (projectId, day, name)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, old_parts_lifetime = 10, min_rows_to_fsync_after_merge = 1;
