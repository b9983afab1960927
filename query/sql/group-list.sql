-- One page of the groups of a site, by id, each with its number of members. Version 0: no update describes the group.
SELECT
    id,
    version = 0 AS isOnlyAssigned,
    latest.2 AS type,
    if(isOnlyAssigned, id, latest.3) AS name,
    latest.4 AS properties,
    toUnixTimestamp64Milli(latest.5) AS createdMs,
    toUnixTimestamp64Milli(latest.6) AS updatedMs,
    members
FROM $GROUPS_WITH_MEMBERS$
WHERE id > {behindId:String}
    AND ({search:String} = ''
        OR positionCaseInsensitiveUTF8(id, {search:String}) > 0
        OR positionCaseInsensitiveUTF8(latest.3, {search:String}) > 0)
    AND ({anyType:UInt8} OR latest.2 = {type:String})
ORDER BY id
LIMIT {limit:UInt64} OFFSET {offset:UInt64}
