-- One page of the members of a group, by id. Rows come in the order of the table's key, so reading ends with the page.
SELECT id, firstName, lastName, email, avatar
FROM profiles FINAL
WHERE projectId = {site:String} AND has(groups, {group:String})
    AND id NOT IN (SELECT profileId FROM erasing WHERE projectId = {site:String})
    AND id > {behindId:String}
ORDER BY id
LIMIT {limit:UInt64} OFFSET {offset:UInt64}
