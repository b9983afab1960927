-- Sessions that lost events to an erasure: one person's events left the session of another, which stays with its counts. All other sessions
-- count exactly the events that the store has of them. `endedAt` is the time of the newest of those events.
CREATE TABLE IF NOT EXISTS thinned_sessions
(
    projectId       LowCardinality(String) CODEC(ZSTD),
    id              FixedString(16) CODEC(ZSTD),
    endedAt         DateTime64(3, 'UTC') CODEC(ZSTD)
)
ENGINE = ReplacingMergeTree
ORDER BY (projectId, id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, old_parts_lifetime = 10, min_rows_to_fsync_after_merge = 1;
