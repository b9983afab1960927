-- Like pages-filtered.sql, without sessions that began on the pages, and with all pages, also without views. With the
-- given sessions and visitors that viewed them.
$PASSING_VIEWS$
SELECT
    origin,
    path,
    uniqExactIf(session, isScreenView AND session != 0) AS sessions,
    countIf(isScreenView) AS pageviews,
    uniqExactIf(visitor, isScreenView AND visitor != 0) AS visitors,
    toString(sumIf(toInt128(revenue), currency = {currency:String})) AS revenue,
    groupUniqArrayIf($SHORT_HASH(session)$, isScreenView AND $SHORT_HASH(session)$ IN {asked:Array(UInt64)}) AS sessionHashes,
    groupUniqArrayIf(visitor, isScreenView AND visitor IN {asked:Array(UInt64)}) AS visitorHashes
FROM views
GROUP BY origin, path
LIMIT {most:UInt32}
