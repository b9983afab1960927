-- What is known of the people of a site.
--
-- Of all records (`profiles`, `groups`, `orders`, `tallies`; entities/document.ts): each row is a whole document, and of the rows of one
-- record the one with the highest version is true. The store may hold several at any moment, so a reader takes that one
-- (`ORDER BY version DESC LIMIT 1 BY projectId, id`, or FINAL).
--
-- `devices`: those from which a browser without a secret may change the record (entities/devices.ts). `searched` is what a search reads:
-- comparing three texts of each record takes twice as long. It is packed less tightly than other texts, because a search reads it
-- of every record: 18 bytes each, of a million made-up people.
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
    devices         Array(String) CODEC(ZSTD),
    createdAt       DateTime64(3, 'UTC') CODEC(Delta, ZSTD),
    updatedAt       DateTime64(3, 'UTC') CODEC(Delta, ZSTD),
    updateIds       Array(String) CODEC(ZSTD),
    version         UInt64 CODEC(Delta, ZSTD),
    searched        String MATERIALIZED lowerUTF8(concat(id, '\n', firstName, ' ', lastName, '\n', email)) CODEC(LZ4)
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (projectId, id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 1000,
    old_parts_lifetime = 10, min_rows_to_fsync_after_merge = 1;
