-- The figures of a series by the values of its breakdowns: for each bucket, and for each of two spans of time as a
-- whole. The figure is in export/chart-statement.ts. A bucket is named by its first millisecond; `edges` has all
-- buckets of both spans. One row for each combination of values. Values with events in the later span come first, by
-- sum, descending.
WITH found AS $EVENTS[
    SELECT roundDown(toUnixTimestamp64Milli(createdAt), {edges:Array(Int64)}) AS edge, $COLUMNS$
    WHERE $IN_SPANS$
        AND if({event:String} = {anyEvent:String}, name NOT IN {synthetic:Array(String)}, name = {event:String})
        AND ($FILTER$)
]$,
measurable AS
(
    SELECT *, edge >= {from:Int64} AS isCurrent FROM found WHERE isMeasured
)
SELECT
    names,
    sumIf(figure, isTotal AND isCurrent) AS whole,
    sumIf(figure, isTotal AND NOT isCurrent) AS wholeBefore,
    groupArrayIf(edge, NOT isTotal) AS edges,
    groupArrayIf(figure, NOT isTotal) AS figures
FROM
(
    SELECT
        names,
        isCurrent,
        grouping(edge) AS isTotal,
        edge,
        $FIGURE$ AS figure
    FROM ($ROWS$)
    -- The whole span merges the states of its buckets, so every event is read once.
    GROUP BY GROUPING SETS ((names, isCurrent), (names, isCurrent, edge))
)
GROUP BY names
ORDER BY max(isCurrent) DESC, sumIf(figure, isCurrent AND NOT isTotal) DESC, names
LIMIT {rows:UInt32}
