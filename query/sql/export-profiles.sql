-- The present state of profiles by id, without those that are being erased.
SELECT
    id, firstName, lastName, email, avatar, properties, groups,
    toUnixTimestamp64Milli(createdAt) AS createdAt,
    toUnixTimestamp64Milli(updatedAt) AS updatedAt
FROM profiles FINAL
WHERE projectId = {site:String}
    AND id IN {ids:Array(String)}
    AND id NOT IN (SELECT profileId FROM erasing WHERE projectId = {site:String})
