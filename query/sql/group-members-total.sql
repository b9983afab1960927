-- The number of profiles in a group.
SELECT count() AS members
FROM profiles FINAL
WHERE projectId = {site:String} AND has(groups, {group:String})
    AND id NOT IN (SELECT profileId FROM erasing WHERE projectId = {site:String})
