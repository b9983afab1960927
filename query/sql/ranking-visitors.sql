-- The visitors of the named rows of ranking-finalized.sql, and the given visitors among them. With `isAsked`, only the
-- latter.
SELECT prefix, name, count() AS visitors, groupArrayIf(visitor, visitor IN {asked:Array(UInt64)}) AS found
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
