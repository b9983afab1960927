-- What is deleted leaves the disk with the old files of its table: within seconds instead of eight minutes. The store keeps
-- old files for the case that a power failure takes the new ones, so from now on new files are synced before.
ALTER TABLE events MODIFY SETTING old_parts_lifetime = 10, min_rows_to_fsync_after_merge = 1;
ALTER TABLE sessions MODIFY SETTING old_parts_lifetime = 10, min_rows_to_fsync_after_merge = 1;
ALTER TABLE profiles MODIFY SETTING old_parts_lifetime = 10, min_rows_to_fsync_after_merge = 1;
ALTER TABLE groups MODIFY SETTING old_parts_lifetime = 10, min_rows_to_fsync_after_merge = 1;
ALTER TABLE orders MODIFY SETTING old_parts_lifetime = 10, min_rows_to_fsync_after_merge = 1;
ALTER TABLE tallies MODIFY SETTING old_parts_lifetime = 10, min_rows_to_fsync_after_merge = 1;
ALTER TABLE rollup_blocks MODIFY SETTING old_parts_lifetime = 10, min_rows_to_fsync_after_merge = 1;
ALTER TABLE rollup_days MODIFY SETTING old_parts_lifetime = 10, min_rows_to_fsync_after_merge = 1;
ALTER TABLE late_hours MODIFY SETTING old_parts_lifetime = 10, min_rows_to_fsync_after_merge = 1;
ALTER TABLE hourly_totals MODIFY SETTING old_parts_lifetime = 10, min_rows_to_fsync_after_merge = 1;
ALTER TABLE hourly_pages MODIFY SETTING old_parts_lifetime = 10, min_rows_to_fsync_after_merge = 1;
ALTER TABLE daily_pages MODIFY SETTING old_parts_lifetime = 10, min_rows_to_fsync_after_merge = 1;
ALTER TABLE daily_sources MODIFY SETTING old_parts_lifetime = 10, min_rows_to_fsync_after_merge = 1;
ALTER TABLE daily_places MODIFY SETTING old_parts_lifetime = 10, min_rows_to_fsync_after_merge = 1;
ALTER TABLE daily_devices MODIFY SETTING old_parts_lifetime = 10, min_rows_to_fsync_after_merge = 1;
ALTER TABLE daily_locales MODIFY SETTING old_parts_lifetime = 10, min_rows_to_fsync_after_merge = 1;
ALTER TABLE erasing MODIFY SETTING old_parts_lifetime = 10, min_rows_to_fsync_after_merge = 1;
ALTER TABLE search_console MODIFY SETTING old_parts_lifetime = 10, min_rows_to_fsync_after_merge = 1;
