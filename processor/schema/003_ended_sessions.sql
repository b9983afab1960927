-- Sessions to which something is credited after they have ended. `ended`: the session's end was written before this state
-- of it, and is not to be written again; last, so that rows of before it are read as they were written.
-- The index finds the sessions of one device, whose rows lie as far apart as its visits.
ALTER TABLE sessions ADD COLUMN IF NOT EXISTS ended UInt8 DEFAULT 0;
ALTER TABLE sessions ADD INDEX IF NOT EXISTS devices deviceId TYPE bloom_filter(0.01) GRANULARITY 1;
ALTER TABLE sessions MATERIALIZE INDEX devices;
