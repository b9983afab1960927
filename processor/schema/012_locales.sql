-- The language, time zone and screen of a visit's software. Empty where unknown, as in all rows from before.
ALTER TABLE events
    ADD COLUMN IF NOT EXISTS language LowCardinality(String) CODEC(ZSTD) AFTER model,
    ADD COLUMN IF NOT EXISTS timezone LowCardinality(String) CODEC(ZSTD) AFTER language,
    ADD COLUMN IF NOT EXISTS screen LowCardinality(String) CODEC(ZSTD) AFTER timezone;
ALTER TABLE sessions
    ADD COLUMN IF NOT EXISTS language LowCardinality(String) CODEC(ZSTD) AFTER model,
    ADD COLUMN IF NOT EXISTS timezone LowCardinality(String) CODEC(ZSTD) AFTER language,
    ADD COLUMN IF NOT EXISTS screen LowCardinality(String) CODEC(ZSTD) AFTER timezone;
-- The sessions that began on a day, by the same columns; see 008_daily_sums.sql. Days that were rolled up before have no
-- rows here: the processor rolls them up again, and until then questions read the rows of sessions.
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
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;
