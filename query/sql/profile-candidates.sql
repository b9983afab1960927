-- The ids of profiles that a search and filters may find: from records, with their age, and from visits. Some visits
-- may have another profile by now. See people/profile-list.ts.
SELECT DISTINCT profileId AS id, toString(made) AS madeMs
FROM
(
    SELECT id AS profileId, toUnixTimestamp64Milli(createdAt) AS made
    FROM profiles FINAL
    WHERE projectId = {site:String} AND ($FILTER$)
    UNION ALL
    $SESSIONS[
        SELECT profileId, {never:Int64} AS made
        WHERE profileId != '' AND ($SESSION_FILTER$)
    ]$
    UNION ALL
    $EVENTS[
        SELECT profileId, {never:Int64} AS made
        WHERE $NAMED_ALONE$ AND ($SESSION_FILTER$)
    ]$
)
WHERE profileId NOT IN (SELECT profileId FROM erasing WHERE projectId = {site:String})
LIMIT {limit:UInt64}
