-- The present state of profiles, in the order of ids, without profiles that are being erased. Reading ends with the
-- page.
SELECT
    id, firstName, lastName, email, avatar, properties, groups,
    toUnixTimestamp64Milli(createdAt) AS createdAt,
    toUnixTimestamp64Milli(updatedAt) AS updatedAt
FROM profiles FINAL
WHERE projectId = {site:String}
    AND id IN {ids:Array(String)}
    AND id NOT IN (SELECT profileId FROM erasing WHERE projectId = {site:String})
ORDER BY indexOf({ids:Array(String)}, id)
