-- The visitors of the named rows of ranking-finalized.sql: how many; or, if `isAsked`, which of the visitors in question.
SELECT
    prefix,
    name,
    countIf({isAsked:UInt8} = 0) AS visitors,
    groupArrayIf(visitor, {isAsked:UInt8} = 1) AS found
FROM
(
    SELECT $COLUMNS$, $VISITOR$ AS visitor
    FROM sessions
    WHERE $FINALIZED_SESSIONS$
        AND $IS_RANKED$
        AND $IS_ASKED$
    GROUP BY prefix, name, visitor
    HAVING visitor != 0 AND sum(sign) > 0
)
GROUP BY prefix, name
