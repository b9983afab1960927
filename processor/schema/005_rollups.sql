-- Hours that are over, summed up: what a question about a long time reads in place of their rows. See README.md.
--
-- Which hours are summed up: `block` is the number of one summing up, of the highest of an hour the sums hold. For one
-- site, or with an empty `projectId` for all. `flushed`: of each partition, a flush up to which every row is in them.
CREATE TABLE IF NOT EXISTS rollup_blocks
(
    projectId       LowCardinality(String),
    hour            DateTime('UTC') CODEC(Delta, ZSTD),
    block           UInt64 CODEC(Delta, ZSTD),
    flushed         Array(UInt32) CODEC(ZSTD)
)
ENGINE = ReplacingMergeTree(block)
ORDER BY (projectId, hour)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;
-- Hours that a flush changed after they might have been summed up.
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
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;
-- What happened in an hour, and the sessions that began in it. `visitors` and `sessions` are hashes, see rollups/sums.ts.
CREATE TABLE IF NOT EXISTS hourly_totals
(
    projectId       LowCardinality(String),
    hour            DateTime('UTC') CODEC(Delta, ZSTD),
    block           UInt64 CODEC(Delta, ZSTD),
    screenViews     UInt64 CODEC(ZSTD),
    begun           Int64 CODEC(ZSTD),
    bounced         Int64 CODEC(ZSTD),
    lastedMs        Int64 CODEC(ZSTD),
    revenue         Map(String, Int64) CODEC(ZSTD),
    visitors        Array(UInt64) CODEC(ZSTD)
)
ENGINE = ReplacingMergeTree(block)
ORDER BY (projectId, hour)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;
-- The same by page; `begun`, `bounced` and `lastedMs` are of the sessions that began on it.
CREATE TABLE IF NOT EXISTS hourly_pages
(
    projectId       LowCardinality(String),
    hour            DateTime('UTC') CODEC(Delta, ZSTD),
    block           UInt64 CODEC(Delta, ZSTD),
    origin          LowCardinality(String) CODEC(ZSTD),
    path            LowCardinality(String) CODEC(ZSTD),
    title           LowCardinality(String) CODEC(ZSTD),
    screenViews     UInt64 CODEC(ZSTD),
    begun           Int64 CODEC(ZSTD),
    bounced         Int64 CODEC(ZSTD),
    lastedMs        Int64 CODEC(ZSTD),
    revenue         Map(String, Int64) CODEC(ZSTD),
    sessions        Array(UInt64) CODEC(ZSTD),
    visitors        Array(UInt64) CODEC(ZSTD)
)
ENGINE = ReplacingMergeTree(block)
ORDER BY (projectId, hour, path, origin)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;
