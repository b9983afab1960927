-- Whom erasures that are under way are about, and which visits go with them. The store keeps the text of what it deleted
-- for long; so that none of it names a person, deletions look them up here, and the rows go when an erasure is done.
-- `sessionId` is zero where a row is about a person, and `profileId` is empty where it is about a visit; `partition` is
-- the one of the person's record.
CREATE TABLE IF NOT EXISTS erasing
(
    erasure         String,
    projectId       LowCardinality(String),
    profileId       String,
    partition       UInt16,
    sessionId       FixedString(16)
)
ENGINE = MergeTree
ORDER BY (erasure, profileId, sessionId)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;
