-- Like pages-filtered.sql, with the visitors and sessions themselves, and without sessions that began on the pages.
$PASSING_VIEWS$
SELECT
    origin,
    path,
    countIf(isScreenView) AS pageviews,
    toString(sumIf(toInt128(revenue), currency = {currency:String})) AS revenue,
    groupUniqArrayIf($ROW_HASHES_MAX$)($SHORT_HASH(session)$, isScreenView AND session != 0) AS sessionHashes,
    groupUniqArrayIf($ROW_HASHES_MAX$)(visitor, isScreenView AND visitor != 0) AS visitorHashes
FROM views
GROUP BY origin, path
