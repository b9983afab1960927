-- Users of a ClickHouse server for each tier, which may do what its program does and nothing else. README.md says how to apply this.
-- Replace the passwords, and footfall by CLICKHOUSE_DATABASE where that is another one. Collectors need no user, and npm run admin
-- only for a backup of everything.
CREATE DATABASE IF NOT EXISTS footfall;

-- The processor: makes and changes tables, writes rows, and removes them for good.
CREATE USER IF NOT EXISTS footfall_processor IDENTIFIED WITH sha256_password BY 'replace-processor' DEFAULT DATABASE footfall;
GRANT CREATE DATABASE, CREATE TABLE, DROP TABLE, ALTER TABLE, INSERT, SELECT ON footfall.* TO footfall_processor;
GRANT SELECT ON system.columns TO footfall_processor;
GRANT SELECT ON system.parts TO footfall_processor;
GRANT SELECT ON system.tables TO footfall_processor;
-- For what travels with a statement.
GRANT CREATE TEMPORARY TABLE ON *.* TO footfall_processor;

-- Questions, at CLICKHOUSE_QUERY_URL: they read the tables that answers are made of. With 2, and not with 1, a question sets its own
-- limits of time and memory.
CREATE USER IF NOT EXISTS footfall_query IDENTIFIED WITH sha256_password BY 'replace-query' DEFAULT DATABASE footfall SETTINGS readonly = 2;
GRANT SELECT ON footfall.events TO footfall_query;
GRANT SELECT ON footfall.sessions TO footfall_query;
GRANT SELECT ON footfall.thinned_sessions TO footfall_query;
GRANT SELECT ON footfall.profiles TO footfall_query;
GRANT SELECT ON footfall.groups TO footfall_query;
GRANT SELECT ON footfall.erasing TO footfall_query;
GRANT SELECT ON footfall.search_console TO footfall_query;
GRANT SELECT ON footfall.hourly_totals TO footfall_query;
GRANT SELECT ON footfall.hourly_pages TO footfall_query;
GRANT SELECT ON footfall.daily_pages TO footfall_query;
GRANT SELECT ON footfall.daily_sources TO footfall_query;
GRANT SELECT ON footfall.daily_places TO footfall_query;
GRANT SELECT ON footfall.daily_devices TO footfall_query;
GRANT SELECT ON footfall.daily_locales TO footfall_query;
GRANT SELECT ON footfall.daily_names TO footfall_query;
-- Only in a store of several shards: which of them this one is.
GRANT SELECT ON footfall.store_shard TO footfall_query;
GRANT CREATE TEMPORARY TABLE ON *.* TO footfall_query;

-- The query tier at CLICKHOUSE_URL: rows of Search Console that a client imports, and nothing else.
CREATE USER IF NOT EXISTS footfall_import IDENTIFIED WITH sha256_password BY 'replace-import' DEFAULT DATABASE footfall;
GRANT INSERT, SELECT ON footfall.search_console TO footfall_import;
GRANT CREATE TEMPORARY TABLE ON *.* TO footfall_import;

-- npm run admin at CLICKHOUSE_URL, for a backup of everything: it reads what the processor kept for it, and fills what the processor made
-- for a restore. The star stands for the end of a name.
CREATE USER IF NOT EXISTS footfall_backup IDENTIFIED WITH sha256_password BY 'replace-backup' DEFAULT DATABASE footfall;
GRANT SELECT ON footfall.backup_* TO footfall_backup;
GRANT INSERT, SELECT ON footfall.restored_* TO footfall_backup;
GRANT SELECT ON footfall.store_shard TO footfall_backup;
GRANT SELECT ON system.columns TO footfall_backup;
GRANT CREATE TEMPORARY TABLE ON *.* TO footfall_backup;
