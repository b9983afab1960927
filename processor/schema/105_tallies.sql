-- How many requests were understood and not recorded, by hour, reason and name. An id has one hour, reason and name.
CREATE TABLE IF NOT EXISTS tallies
(
    projectId       LowCardinality(String),
    id              String CODEC(ZSTD),
    hour            DateTime('UTC') CODEC(Delta, ZSTD),
    reason          LowCardinality(String),
    name            String CODEC(ZSTD),
    count           UInt64 CODEC(ZSTD),
    createdAt       DateTime64(3, 'UTC') CODEC(Delta, ZSTD),
    updatedAt       DateTime64(3, 'UTC') CODEC(Delta, ZSTD),
    updateIds       Array(String) CODEC(ZSTD),
    version         UInt64 CODEC(Delta, ZSTD)
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (projectId, hour, reason, name, id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 1000,
    old_parts_lifetime = 10, min_rows_to_fsync_after_merge = 1;
