-- The days on which the given visitors visited, from the rollups of the selected hours.
SELECT visitor, arraySort(groupUniqArray(day)) AS days
FROM $ROLLUP_VISITS$
WHERE visitor IN {asked:Array(UInt64)}
GROUP BY visitor
