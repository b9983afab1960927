-- Sums of hours and of days. They can be made again from rows at any time, so all tables of sums are dropped and made
-- anew; the processor fills them by itself, and until then questions read rows. See README.md and rollups/sums.ts.
--
-- An hour or day counts only if its row with the highest `block` has a `flushed` that is not empty: of each partition, a
-- flush up to which every row is in the sums. The sums of that block are meant then, and no others. A row is about one
-- site, or with an empty `projectId` about all. `visitors` and `sessions` are hashes of 48 bits (`hashText` in rows.ts),
-- which T64 keeps in six bytes.
DROP TABLE IF EXISTS rollup_blocks;
DROP TABLE IF EXISTS rollup_days;
DROP TABLE IF EXISTS hourly_totals;
DROP TABLE IF EXISTS hourly_pages;
DROP TABLE IF EXISTS daily_pages;
DROP TABLE IF EXISTS daily_sources;
DROP TABLE IF EXISTS daily_places;
DROP TABLE IF EXISTS daily_devices;
-- Which hours are summed up.
CREATE TABLE IF NOT EXISTS rollup_blocks
(
    projectId       LowCardinality(String) CODEC(ZSTD),
    hour            DateTime('UTC') CODEC(Delta, ZSTD),
    block           UInt64 CODEC(Delta, ZSTD),
    flushed         Array(UInt32) CODEC(ZSTD)
)
ENGINE = ReplacingMergeTree(block)
ORDER BY (projectId, hour)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;
-- Which days are, by the beginning of a day in UTC.
CREATE TABLE IF NOT EXISTS rollup_days
(
    projectId       LowCardinality(String) CODEC(ZSTD),
    day             DateTime('UTC') CODEC(Delta, ZSTD),
    block           UInt64 CODEC(Delta, ZSTD),
    flushed         Array(UInt32) CODEC(ZSTD)
)
ENGINE = ReplacingMergeTree(block)
ORDER BY (projectId, day)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;
-- What happened in an hour, and the sessions that began in it.
CREATE TABLE IF NOT EXISTS hourly_totals
(
    projectId       LowCardinality(String) CODEC(ZSTD),
    hour            DateTime('UTC') CODEC(Delta, ZSTD),
    block           UInt64 CODEC(Delta, ZSTD),
    screenViews     UInt64 CODEC(ZSTD),
    begun           Int64 CODEC(ZSTD),
    bounced         Int64 CODEC(ZSTD),
    lastedMs        Int64 CODEC(ZSTD),
    revenue         Map(String, Int64) CODEC(ZSTD),
    visitors        Array(UInt64) CODEC(T64, ZSTD)
)
ENGINE = ReplacingMergeTree(block)
ORDER BY (projectId, hour)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;
-- The same by page; `begun`, `bounced` and `lastedMs` are of the sessions that began on it. `sessionsWithin` is how many of
-- those that saw it lie within the hour as a whole; `sessions` are the others. Old ones are let go, a month at
-- once (HOURLY_PAGES_DAYS in rows.ts): a question about them reads days, and rows at its two ends.
CREATE TABLE IF NOT EXISTS hourly_pages
(
    projectId       LowCardinality(String) CODEC(ZSTD),
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
    sessionsWithin  UInt64 CODEC(ZSTD),
    sessions        Array(UInt64) CODEC(T64, ZSTD),
    visitors        Array(UInt64) CODEC(T64, ZSTD)
)
ENGINE = ReplacingMergeTree(block)
PARTITION BY toYYYYMM(hour)
ORDER BY (projectId, hour, path, origin)
TTL hour + INTERVAL 100 DAY
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, ttl_only_drop_parts = 1;
-- The same by day. The days of a page lie together, so that few pages are read without the others.
CREATE TABLE IF NOT EXISTS daily_pages
(
    projectId       LowCardinality(String) CODEC(ZSTD),
    day             DateTime('UTC') CODEC(Delta, ZSTD),
    block           UInt64 CODEC(Delta, ZSTD),
    origin          LowCardinality(String) CODEC(ZSTD),
    path            LowCardinality(String) CODEC(ZSTD),
    title           LowCardinality(String) CODEC(ZSTD),
    screenViews     UInt64 CODEC(ZSTD),
    begun           Int64 CODEC(ZSTD),
    bounced         Int64 CODEC(ZSTD),
    lastedMs        Int64 CODEC(ZSTD),
    revenue         Map(String, Int64) CODEC(ZSTD),
    sessionsWithin  UInt64 CODEC(ZSTD),
    sessions        Array(UInt64) CODEC(T64, ZSTD),
    visitors        Array(UInt64) CODEC(T64, ZSTD)
)
ENGINE = ReplacingMergeTree(block)
ORDER BY (projectId, toStartOfMonth(day), path, origin, day)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, index_granularity = 1024;
-- The sessions that began on a day, by where they came from, where they were and what they were made with: a row for
-- each combination (ROLLUP_DIMENSIONS in rows.ts). `viewed`: their screen views. `visitors`: who has sessions of it.
CREATE TABLE IF NOT EXISTS daily_sources
(
    projectId       LowCardinality(String) CODEC(ZSTD),
    day             DateTime('UTC') CODEC(Delta, ZSTD),
    block           UInt64 CODEC(Delta, ZSTD),
    referrer        LowCardinality(String) CODEC(ZSTD),
    referrerName    LowCardinality(String) CODEC(ZSTD),
    referrerType    LowCardinality(String) CODEC(ZSTD),
    utmSource       LowCardinality(String) CODEC(ZSTD),
    utmMedium       LowCardinality(String) CODEC(ZSTD),
    utmCampaign     LowCardinality(String) CODEC(ZSTD),
    utmTerm         LowCardinality(String) CODEC(ZSTD),
    utmContent      LowCardinality(String) CODEC(ZSTD),
    channel         LowCardinality(String) CODEC(ZSTD),
    begun           Int64 CODEC(ZSTD),
    viewed          Int64 CODEC(ZSTD),
    bounced         Int64 CODEC(ZSTD),
    lastedMs        Int64 CODEC(ZSTD),
    revenue         Map(String, Int64) CODEC(ZSTD),
    visitors        Array(UInt64) CODEC(T64, ZSTD)
)
ENGINE = ReplacingMergeTree(block)
ORDER BY (projectId, day, referrer, referrerName, referrerType, utmSource, utmMedium, utmCampaign, utmTerm, utmContent, channel)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;
CREATE TABLE IF NOT EXISTS daily_places
(
    projectId       LowCardinality(String) CODEC(ZSTD),
    day             DateTime('UTC') CODEC(Delta, ZSTD),
    block           UInt64 CODEC(Delta, ZSTD),
    country         LowCardinality(String) CODEC(ZSTD),
    region          LowCardinality(String) CODEC(ZSTD),
    city            LowCardinality(String) CODEC(ZSTD),
    begun           Int64 CODEC(ZSTD),
    viewed          Int64 CODEC(ZSTD),
    bounced         Int64 CODEC(ZSTD),
    lastedMs        Int64 CODEC(ZSTD),
    revenue         Map(String, Int64) CODEC(ZSTD),
    visitors        Array(UInt64) CODEC(T64, ZSTD)
)
ENGINE = ReplacingMergeTree(block)
ORDER BY (projectId, day, country, region, city)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;
CREATE TABLE IF NOT EXISTS daily_devices
(
    projectId       LowCardinality(String) CODEC(ZSTD),
    day             DateTime('UTC') CODEC(Delta, ZSTD),
    block           UInt64 CODEC(Delta, ZSTD),
    device          LowCardinality(String) CODEC(ZSTD),
    brand           LowCardinality(String) CODEC(ZSTD),
    model           LowCardinality(String) CODEC(ZSTD),
    browser         LowCardinality(String) CODEC(ZSTD),
    browserVersion  LowCardinality(String) CODEC(ZSTD),
    os              LowCardinality(String) CODEC(ZSTD),
    osVersion       LowCardinality(String) CODEC(ZSTD),
    begun           Int64 CODEC(ZSTD),
    viewed          Int64 CODEC(ZSTD),
    bounced         Int64 CODEC(ZSTD),
    lastedMs        Int64 CODEC(ZSTD),
    revenue         Map(String, Int64) CODEC(ZSTD),
    visitors        Array(UInt64) CODEC(T64, ZSTD)
)
ENGINE = ReplacingMergeTree(block)
ORDER BY (projectId, day, device, brand, model, browser, browserVersion, os, osVersion)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;
