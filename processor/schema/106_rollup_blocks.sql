-- Which hours are rolled up.
--
-- Of all rollups: an hour or day counts only if its row here (days: `rollup_days`) with the highest `block` has a `flushed` that is not empty:
-- of each partition, a flush up to which every row is in the rollup. The rows of that block count, and no others. A row is about one site,
-- or with an empty `projectId` about all. Rollups can be made from rows at any time; the processor fills them by itself.
-- See `processor/rollups`.
CREATE TABLE IF NOT EXISTS rollup_blocks
(
    projectId       LowCardinality(String) CODEC(ZSTD),
    hour            DateTime('UTC') CODEC(Delta, ZSTD),
    block           UInt64 CODEC(Delta, ZSTD),
    flushed         Array(UInt32) CODEC(ZSTD)
)
ENGINE = ReplacingMergeTree(block)
ORDER BY (projectId, hour)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, old_parts_lifetime = 10, min_rows_to_fsync_after_merge = 1;
