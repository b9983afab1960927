-- How many sessions go from one value to the next, by column; see paths/user-flow.ts. A session is its values in order, where
-- equal ones that follow each other are one, from `start` on. A link from the last value of a session leads to an exit. Values
-- beyond the `limit` most frequent ones of their column are one, whose text is empty.
WITH
found AS
(
    SELECT sessionId, createdAt, id, $COLUMNS$ AS value
    FROM events
    WHERE projectId = {site:String}
        AND flushNumber <= {flushed:Array(UInt32)}[partition + 1]
        AND $IN_SPAN$
        AND if({isByPages:UInt8} = 1, name = {screenView:String}, name NOT IN {synthetic:Array(String)})
        AND sessionId != toFixedString('', 16)
        AND ($FILTER$)
    $IF_HOT$
    UNION ALL
    SELECT sessionId, createdAt, id, $COLUMNS$ AS value
    FROM $HOT_EVENTS$
    WHERE projectId = {site:String}
        AND $IN_SPAN$
        AND if({isByPages:UInt8} = 1, name = {screenView:String}, name NOT IN {synthetic:Array(String)})
        AND sessionId != toFixedString('', 16)
        AND ($HOT_FILTER$)
    $END_HOT$
),
flows AS
(
    SELECT
        arrayCompact(arraySort(groupArray((createdAt, id, value))).3) AS inOrder,
        if({isBackward:UInt8} = 1, arrayReverse(inOrder), inOrder) AS visited,
        if({hasStart:UInt8} = 1, indexOf(visited, {start:String}), 1) AS firstPlace,
        arraySlice(visited, firstPlace, {depth:UInt8} + 1) AS flow
    FROM found
    GROUP BY sessionId
    HAVING firstPlace > 0
),
pairs AS
(
    SELECT pair.1 AS source, pair.2 AS value, pair.3 AS isExit, pair.4 AS next, count() AS sessions
    FROM flows
    ARRAY JOIN arrayMap(
        place -> (place - 1, flow[place], place = length(flow), flow[place + 1]),
        range(1, least(length(flow), {depth:UInt8}) + 1)) AS pair
    GROUP BY source, value, isExit, next
),
ranked AS
(
    SELECT
        *,
        dense_rank() OVER (PARTITION BY source ORDER BY ofValue DESC, value) > {limit:UInt8} AS isOther,
        NOT isExit AND dense_rank() OVER (PARTITION BY source, isExit ORDER BY ofNext DESC, next) > {limit:UInt8} AS isNextOther
    FROM
    (
        -- Every session that has a value in a column has come there by one pair, and leaves by one.
        SELECT
            *,
            sum(sessions) OVER (PARTITION BY source, value) AS ofValue,
            sum(sessions) OVER (PARTITION BY source, isExit, next) AS ofNext
        FROM pairs
    )
)
SELECT
    source AS column,
    if(isOther, '', value) AS fromValue,
    isOther AS isFromOther,
    isExit,
    if(isNextOther, '', next) AS toValue,
    isNextOther AS isToOther,
    sum(sessions) AS sessions
FROM ranked
GROUP BY column, fromValue, isFromOther, isExit, toValue, isToOther
