-- The events of the row hours, by bucket, with their visitors: up to one more than the limit, to show when there
-- are too many.
SELECT
    roundDown(toUnixTimestamp64Milli(createdAt), {edges:Array(Int64)}) AS edge,
    countIf(name = {screenView:String}) AS screenViews,
    mapApply((code, amount) -> (code, toString(amount)), sumMapIf(map(toString(currency), toInt128(revenue)), revenue != 0)) AS revenue,
    groupUniqArrayIf($ROW_HASHES_MAX$)(visitor, visitor != 0 AND name NOT IN {synthetic:Array(String)}) AS visitorHashes
FROM $ROW_EVENTS$
GROUP BY edge
-- The row hours are few, so the index finds them.
SETTINGS use_index_for_in_with_subqueries = 1
