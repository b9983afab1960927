-- Records: the documents that the processor keeps; see records/document.ts. Each row is a whole document, and of the rows
-- of one record the one with the highest version is true. The store may hold several at any moment, so whoever reads
-- takes that one (`ORDER BY version DESC LIMIT 1 BY projectId, id`, or FINAL).

-- What is known of the people of a site.
CREATE TABLE IF NOT EXISTS profiles
(
    projectId       LowCardinality(String),
    id              String CODEC(ZSTD),
    firstName       String CODEC(ZSTD),
    lastName        String CODEC(ZSTD),
    email           String CODEC(ZSTD),
    avatar          String CODEC(ZSTD),
    properties      Map(String, String) CODEC(ZSTD),
    groups          Array(String) CODEC(ZSTD),
    createdAt       DateTime64(3, 'UTC') CODEC(Delta, ZSTD),
    updatedAt       DateTime64(3, 'UTC') CODEC(Delta, ZSTD),
    updateIds       Array(String) CODEC(ZSTD),
    version         UInt64 CODEC(Delta, ZSTD)
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (projectId, id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 1000;

-- What is known of its groups: companies, teams.
CREATE TABLE IF NOT EXISTS groups
(
    projectId       LowCardinality(String),
    id              String CODEC(ZSTD),
    type            LowCardinality(String),
    name            String CODEC(ZSTD),
    properties      Map(String, String) CODEC(ZSTD),
    createdAt       DateTime64(3, 'UTC') CODEC(Delta, ZSTD),
    updatedAt       DateTime64(3, 'UTC') CODEC(Delta, ZSTD),
    updateIds       Array(String) CODEC(ZSTD),
    version         UInt64 CODEC(Delta, ZSTD)
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (projectId, id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 1000;

-- What an order brought and what of it was refunded, in minor units. The revenue itself is in `events`; this is how an
-- order counts once. `waiting`: refunds whose order did not come yet.
CREATE TABLE IF NOT EXISTS orders
(
    projectId       LowCardinality(String),
    id              String CODEC(ZSTD),
    currency        LowCardinality(String),
    amount          Int64 CODEC(ZSTD),
    refunded        Int64 CODEC(ZSTD),
    hasOrder        Bool,
    waiting         Array(String) CODEC(ZSTD),
    createdAt       DateTime64(3, 'UTC') CODEC(Delta, ZSTD),
    updatedAt       DateTime64(3, 'UTC') CODEC(Delta, ZSTD),
    updateIds       Array(String) CODEC(ZSTD),
    version         UInt64 CODEC(Delta, ZSTD)
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (projectId, id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 1000;

-- How many requests were understood and not recorded, per hour, reason and name. An id has one hour, reason and name.
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
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 1000;
