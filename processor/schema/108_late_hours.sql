-- Hours that a flush changed when they might have been rolled up.
CREATE TABLE IF NOT EXISTS late_hours
(
    projectId       LowCardinality(String),
    hour            DateTime('UTC') CODEC(Delta, ZSTD),
    partition       UInt16 CODEC(ZSTD),
    flushNumber     UInt32 CODEC(ZSTD),
    markedAt        DateTime('UTC') CODEC(Delta, ZSTD)
)
ENGINE = ReplacingMergeTree(flushNumber)
ORDER BY (projectId, hour, partition)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, old_parts_lifetime = 10, min_rows_to_fsync_after_merge = 1;
