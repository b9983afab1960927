-- What is known of the groups of a site: companies, teams. `devices` as in `profiles`.
CREATE TABLE IF NOT EXISTS groups
(
    projectId       LowCardinality(String),
    id              String CODEC(ZSTD),
    type            LowCardinality(String),
    name            String CODEC(ZSTD),
    properties      Map(String, String) CODEC(ZSTD),
    devices         Array(String) CODEC(ZSTD),
    createdAt       DateTime64(3, 'UTC') CODEC(Delta, ZSTD),
    updatedAt       DateTime64(3, 'UTC') CODEC(Delta, ZSTD),
    updateIds       Array(String) CODEC(ZSTD),
    version         UInt64 CODEC(Delta, ZSTD)
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (projectId, id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 1000,
    old_parts_lifetime = 10, min_rows_to_fsync_after_merge = 1;
