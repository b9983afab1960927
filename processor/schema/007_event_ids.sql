-- The ids that our browser script makes up (`sdkName` web) let a retry count once. They are remembered for a day, and
-- loaded again after a restart; nobody needs them later, and as chance they are what takes most room in a row. So they go
-- eight days after the day on which they came: six spare ones for a processor that lags behind. Ids of all other senders
-- are the customer's data and stay, which the store is told by a time that does not come.
-- Expiry is by whole days, and looked for once a day, so that rows are written again for it once a day at the most.
ALTER TABLE events MODIFY SETTING merge_with_ttl_timeout = 86400;
ALTER TABLE events
    MODIFY COLUMN eventId TTL if(
        sdkName = 'web', toStartOfDay(receivedAt) + INTERVAL 8 DAY, toDateTime('2106-02-06 00:00:00', 'UTC'));
