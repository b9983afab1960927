-- Whom the erasures under way are about, and which visits and orders go with them. The store keeps the text of its deletions for long; so that
-- none of it names a person, deletions look them up here, and the rows go when an erasure is done.
-- `profileId` is empty where a row is about a visit or an order, `sessionId` is zero where it is about a person or an order, and `orderId` is
-- empty where it is about a person or a visit. `partition` is that of the person's record.
CREATE TABLE IF NOT EXISTS erasing
(
    erasure         String,
    projectId       LowCardinality(String),
    profileId       String,
    partition       UInt16,
    sessionId       FixedString(16),
    orderId         String
)
ENGINE = MergeTree
ORDER BY (erasure, profileId, sessionId)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, old_parts_lifetime = 10, min_rows_to_fsync_after_merge = 1;
