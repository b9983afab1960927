-- The number of sessions that go from one value to the next, by column; see paths/user-flow.ts. A session is its values
-- in order, from `start` on; equal values that follow each other are one. A link from the last value of a session leads
-- to an exit. Values beyond the `limit` most frequent ones of their column are one value with an empty text.
--
-- Until they are ranked, values are hashes of 64 bits, and an event is one number: its time, its id, and its value. The
-- store collects and sorts numbers in less than half the time of tuples with texts. `names` has the texts.
WITH
found AS $EVENTS[
    SELECT sessionId, $COLUMNS$ AS text, sipHash64(text) AS value, bitOr(
            bitOr(
                bitShiftLeft(toUInt256(toUnixTimestamp64Milli(createdAt) - {from:Int64}), 192),
                bitShiftLeft(toUInt256(reinterpretAsUInt128(reverse(id))), 64)),
            toUInt256(value)) AS key
    WHERE $IN_SPAN$
        AND if({isByPages:UInt8} = 1, name = {screenView:String}, name NOT IN {synthetic:Array(String)})
        AND sessionId != toFixedString('', 16)
        AND ($FILTER$)
]$,
visits AS
(
    SELECT
        arrayCompact(arrayMap(key -> toUInt64(key), arraySort(groupArray(key)))) AS inOrder,
        if({isBackward:UInt8} = 1, arrayReverse(inOrder), inOrder) AS visited,
        if({hasStart:UInt8} = 1, indexOf(visited, sipHash64({start:String})), 1) AS firstPlace,
        arraySlice(visited, firstPlace, {depth:UInt8} + 1) AS flow
    FROM found
    GROUP BY sessionId
    HAVING firstPlace > 0
),
pairs AS
(
    SELECT place - 1 AS source, node AS value, place = length(flow) AS isExit, following AS next, count() AS sessions
    FROM visits
    ARRAY JOIN
        flow AS node,
        arrayEnumerate(flow) AS place,
        arrayPushBack(arrayPopFront(flow), toUInt64(0)) AS following
    WHERE place <= {depth:UInt8}
    GROUP BY source, value, isExit, next
),
-- Every session with a value in a column arrives by one pair and leaves by one.
counted AS
(
    SELECT
        *,
        sum(sessions) OVER (PARTITION BY source, value) AS ofValue,
        sum(sessions) OVER (PARTITION BY source, isExit, next) AS ofNext
    FROM pairs
),
-- Ties go by text, so a value is certainly beyond the limit only if `limit` others have more sessions.
contenders AS
(
    SELECT
        source,
        isExit,
        ofValue < leastOfValues AS isBeyond,
        NOT isExit AND ofNext < leastOfNexts AS isNextBeyond,
        if(isBeyond, 0, value) AS hash,
        if(isExit OR isNextBeyond, 0, next) AS nextHash,
        if(isBeyond, 0, ofValue) AS ofHash,
        if(isExit OR isNextBeyond, 0, ofNext) AS ofNextHash,
        sum(sessions) AS together
    FROM
    (
        SELECT
            *,
            minIf(ofValue, place <= {limit:UInt8}) OVER (PARTITION BY source) AS leastOfValues,
            minIf(ofNext, nextPlace <= {limit:UInt8}) OVER (PARTITION BY source, isExit) AS leastOfNexts
        FROM
        (
            SELECT
                *,
                dense_rank() OVER (PARTITION BY source ORDER BY ofValue DESC, value) AS place,
                dense_rank() OVER (PARTITION BY source, isExit ORDER BY ofNext DESC, next) AS nextPlace
            FROM counted
        )
    )
    GROUP BY source, isExit, isBeyond, isNextBeyond, hash, nextHash, ofHash, ofNextHash
),
-- Both ends of a pair in one join, because two joins would read the names twice.
named AS
(
    SELECT
        source, isExit, isBeyond, isNextBeyond, ofHash, ofNextHash, together,
        anyIf(names.text, end = 1) AS value,
        anyIf(names.text, end = 2) AS next
    FROM
    (
        SELECT *, end, if(end = 1, hash, nextHash) AS ofEnd
        FROM contenders
        ARRAY JOIN [1, 2] AS end
    ) AS ends
    ANY LEFT JOIN (SELECT sipHash64(text) AS ofEnd, text FROM (SELECT DISTINCT text FROM found)) AS names USING (ofEnd)
    GROUP BY source, isExit, isBeyond, isNextBeyond, hash, nextHash, ofHash, ofNextHash, together
),
ranked AS
(
    SELECT
        *,
        isBeyond OR dense_rank() OVER (PARTITION BY source ORDER BY isBeyond, ofHash DESC, value) > {limit:UInt8} AS isOther,
        isNextBeyond OR NOT isExit AND dense_rank() OVER (
            PARTITION BY source, isExit ORDER BY isNextBeyond, ofNextHash DESC, next) > {limit:UInt8} AS isNextOther
    FROM named
)
SELECT
    source AS column,
    if(isOther, '', value) AS fromValue,
    isOther AS isFromOther,
    isExit,
    if(isNextOther, '', next) AS toValue,
    isNextOther AS isToOther,
    sum(together) AS sessions
FROM ranked
GROUP BY column, fromValue, isFromOther, isExit, toValue, isToOther
