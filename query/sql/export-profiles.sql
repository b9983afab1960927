-- The present state of profiles by id, without those that are being erased, in the order of the ids: reading ends when a page is full.
SELECT
    id, firstName, lastName, email, avatar, properties, groups,
    toUnixTimestamp64Milli(createdAt) AS createdAt,
    toUnixTimestamp64Milli(updatedAt) AS updatedAt
FROM profiles FINAL
WHERE projectId = {site:String}
    AND id IN {ids:Array(String)}
    AND id NOT IN (SELECT profileId FROM erasing WHERE projectId = {site:String})
ORDER BY indexOf({ids:Array(String)}, id)
