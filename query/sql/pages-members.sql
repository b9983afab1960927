-- The given sessions and visitors that are in the rollups of the named pages, or of every page.
SELECT origin, path, isVisitor, groupUniqArray(hash) AS found
FROM
(
    SELECT origin, path, 0 AS isVisitor, arrayJoin(sessionHashes) AS hash
    FROM $PAGE_ROLLUPS$
    UNION ALL
    SELECT origin, path, 1 AS isVisitor, arrayJoin(visitorHashes) AS hash
    FROM $PAGE_ROLLUPS$
)
WHERE hash IN {asked:Array(UInt64)}
GROUP BY origin, path, isVisitor
