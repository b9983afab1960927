-- Which flushes a stretch of rows came with: whoever takes events by flush number passes over what is older. Parts of
-- before get the index when they are merged, and are read through until then.
ALTER TABLE events ADD INDEX IF NOT EXISTS flushes flushNumber TYPE minmax GRANULARITY 1;
