-- The people of a funnel, for paths/people.ts. `mask` has a bit for each step that an event may be, `key` is its place
-- in the order, and `label` is its requested value. paths/funnel-statement.ts defines these and `person`.
--
-- Most people have no event of the second step after one of the first. They are counted here, by the label of their
-- first event of the first step. For all others, the events that a run may have are returned in order and packed: time
-- and mask as a number, and the label as an index into the texts of the chunk. The highest bit of every number is set,
-- because the store drops zero bytes at an end. Texts have no slash, because the store would escape each. If the events
-- of a run or their order are uncertain, a person is in `unsure` with the hours of the events, for a second statement.
WITH found AS $EVENTS[
    SELECT sessionId, createdAt, $COLUMNS$
    WHERE $IN_SPAN$
        AND (name IN {stepNames:Array(String)} OR {isEvery:UInt8} = 1 AND name NOT IN {synthetic:Array(String)})
        AND ($FILTER$)
    STORED WHERE $IN_HOURS$
]$,
people AS
(
    SELECT person, $FIGURE$
    FROM $ROWS$
    GROUP BY person
    HAVING hasStart
),
chunks AS
(
    SELECT
        if(isTold, 1 + sipHash64(person) % {chunks:UInt8}, 0) AS chunk,
        if(isTold, '', firstLabel) AS value,
        countIf(NOT isUnsure) AS people,
        groupArrayArray(if(isUnsure, [], words)) AS told,
        groupArrayArray(labels) AS toldLabels,
        groupArrayIf(toUInt32(length(words)), isTold AND NOT isUnsure) AS lengths,
        groupArrayIf({unsureMax:UInt32})(hex(person), isUnsure) AS unsure,
        groupUniqArrayArray(if(isUnsure, hours, [])) AS unsureHours
    FROM people
    GROUP BY chunk, value
)
SELECT
    value,
    people,
    length(told) AS events,
    if(isPacked, base64URLEncode(arrayStringConcat(arrayMap(length -> reinterpretAsFixedString(bitOr(length, 0x80000000)), lengths))), '') AS lengths,
    if(isPacked, base64URLEncode(arrayStringConcat(arrayMap(word -> reinterpretAsFixedString(word), told))), '') AS words,
    if(isPacked AND {isLabelled:UInt8} = 1, base64URLEncode(arrayStringConcat(arrayMap(
        place -> reinterpretAsFixedString(bitOr(toUInt32(place), 0x80000000)), arrayEnumerateDense(toldLabels)))), '') AS labels,
    if(isPacked AND {isLabelled:UInt8} = 1, arrayDistinct(toldLabels), []) AS texts,
    unsure,
    unsureHours
FROM
(
    -- Beyond the limit nothing is packed: the answer is an error.
    SELECT *, sum(length(told)) OVER () <= {eventsMax:UInt64} AS isPacked FROM chunks
)
LIMIT {rowsMax:UInt32}
