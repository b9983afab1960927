-- The stored states of a profile's sessions, up to a limit; see people/profile-sessions.ts. A replaced state comes
-- twice, with `sign` 1 and -1. The newest states of the hot sessions replace everything in the store about these
-- sessions; see seam.ts.
$IF_HOT$ WITH hot AS $HOT_STATES$ $END_HOT$
SELECT * REPLACE
(
    lower(hex(id)) AS id,
    toUnixTimestamp64Milli(startedAt) AS startedAt,
    toUnixTimestamp64Milli(endedAt) AS endedAt,
    mapApply((code, amount) -> (code, toString(amount)), revenue) AS revenue,
    toString(version) AS version
)
FROM
(
    SELECT $COLUMNS$, version, sign
    FROM sessions
    WHERE projectId = {site:String}
        AND profileId = {profileId:String}
        $IF_HOT$ AND id NOT IN (SELECT id FROM hot) $END_HOT$
    $IF_HOT$
    UNION ALL
    SELECT $COLUMNS$, version, sign
    FROM hot
    WHERE profileId = {profileId:String}
    $END_HOT$
)
LIMIT {limit:UInt64}
