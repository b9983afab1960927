-- What search engines say of a site: how often they showed its pages for a query on a day, and how often people clicked. Rows come from
-- imports, not from events. A row replaces an earlier one with the same date, query, page, country and device; until the store
-- merges, both are there, so a reader takes the latest import (FINAL). `query` is empty where the search engine does not tell it; `country`
-- and `device` are where the import does not tell them apart. `position` is the average of the row's impressions.
CREATE TABLE IF NOT EXISTS search_console
(
    projectId       LowCardinality(String),
    date            Date CODEC(Delta, ZSTD),
    query           String CODEC(ZSTD),
    page            String CODEC(ZSTD),
    country         LowCardinality(String),
    device          LowCardinality(String),
    clicks          UInt32 CODEC(ZSTD),
    impressions     UInt32 CODEC(ZSTD),
    position        Float64 CODEC(ZSTD),
    importedAt      DateTime64(3, 'UTC') CODEC(Delta, ZSTD)
)
ENGINE = ReplacingMergeTree(importedAt)
ORDER BY (projectId, date, query, page, country, device)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, old_parts_lifetime = 10, min_rows_to_fsync_after_merge = 1;
