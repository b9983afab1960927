-- Devices from which a browser without a secret may change a profile or a group (entities/devices.ts). Older rows have none:
-- a sender with a secret has to name the first one.
ALTER TABLE profiles ADD COLUMN IF NOT EXISTS devices Array(String) CODEC(ZSTD) AFTER groups;
ALTER TABLE groups ADD COLUMN IF NOT EXISTS devices Array(String) CODEC(ZSTD) AFTER properties;
