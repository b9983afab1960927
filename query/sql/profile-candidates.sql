-- The ids of profiles that a search and filters may find: from records, with their age, and from visits. Some visits
-- may have another profile by now. See people/profile-list.ts.
$IF_HOT$ WITH hot AS $HOT_STATES$ $END_HOT$
SELECT DISTINCT profileId AS id, toString(made) AS madeMs
FROM
(
    SELECT id AS profileId, toUnixTimestamp64Milli(createdAt) AS made
    FROM profiles FINAL
    WHERE projectId = {site:String} AND ($FILTER$)
    UNION ALL
    SELECT profileId, {never:Int64} AS made
    FROM sessions
    WHERE projectId = {site:String} AND profileId != '' AND ($SESSION_FILTER$)
    UNION ALL
    SELECT profileId, {never:Int64} AS made
    FROM events
    WHERE projectId = {site:String} AND $NAMED_ALONE$ AND ($SESSION_FILTER$)
    $IF_HOT$
    UNION ALL
    SELECT profileId, {never:Int64} AS made
    FROM hot
    WHERE profileId != '' AND ($SESSION_FILTER$)
    UNION ALL
    SELECT profileId, {never:Int64} AS made
    FROM $HOT_EVENTS$
    WHERE projectId = {site:String} AND $NAMED_ALONE$ AND ($SESSION_FILTER$)
    $END_HOT$
)
WHERE profileId NOT IN (SELECT profileId FROM erasing WHERE projectId = {site:String})
LIMIT {limit:UInt64}
