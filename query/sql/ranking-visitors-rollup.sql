-- Like ranking-visitors.sql, without filters, from the rollups of the selected days.
SELECT
    prefix,
    name,
    uniqExact(visitor) AS visitors,
    groupUniqArrayIf(visitor, visitor IN {asked:Array(UInt64)}) AS found
FROM
(
    SELECT $COLUMNS$, arrayJoin(visitors) AS visitor
    FROM $ROLLUP_TABLE$
    WHERE projectId = {site:String}
        AND $ROLLUP_DAYS$
        AND $IS_RANKED$
)
WHERE $IS_ASKED$
GROUP BY prefix, name
