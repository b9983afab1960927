-- What an order brought and what of it was refunded, in minor units. The revenue itself is in `events`; this table lets an order count once.
-- `waiting`: refunds whose order has not come. `answered`: what the sender of the order was answered, its device and its session, either
-- of which may be empty. It has no element where that is not known, and for erased people.
CREATE TABLE IF NOT EXISTS orders
(
    projectId       LowCardinality(String),
    id              String CODEC(ZSTD),
    currency        LowCardinality(String),
    amount          Int64 CODEC(ZSTD),
    refunded        Int64 CODEC(ZSTD),
    hasOrder        Bool,
    waiting         Array(String) CODEC(ZSTD),
    answered        Array(String) CODEC(ZSTD),
    createdAt       DateTime64(3, 'UTC') CODEC(Delta, ZSTD),
    updatedAt       DateTime64(3, 'UTC') CODEC(Delta, ZSTD),
    updateIds       Array(String) CODEC(ZSTD),
    version         UInt64 CODEC(Delta, ZSTD)
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (projectId, id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 1000,
    old_parts_lifetime = 10, min_rows_to_fsync_after_merge = 1;
