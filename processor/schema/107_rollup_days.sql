-- Which days are rolled up, by the start of a day in UTC; see `rollup_blocks`.
CREATE TABLE IF NOT EXISTS rollup_days
(
    projectId       LowCardinality(String) CODEC(ZSTD),
    day             DateTime('UTC') CODEC(Delta, ZSTD),
    block           UInt64 CODEC(Delta, ZSTD),
    flushed         Array(UInt32) CODEC(ZSTD)
)
ENGINE = ReplacingMergeTree(block)
ORDER BY (projectId, day)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, old_parts_lifetime = 10, min_rows_to_fsync_after_merge = 1;
