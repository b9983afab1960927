-- What happened in the hours that are read from rows, by bucket, and who was there: at most so many that the rest can tell.
SELECT
    roundDown(toUnixTimestamp64Milli(createdAt), {edges:Array(Int64)}) AS edge,
    countIf(name = {screenView:String}) AS screenViews,
    mapApply((code, amount) -> (code, toString(amount)), sumMapIf(map(toString(currency), revenue), revenue != 0)) AS revenue,
    groupUniqArrayIf($ROW_HASHES_MAX$)(visitor, visitor != 0 AND name NOT IN {synthetic:Array(String)}) AS visitorHashes
FROM $ROW_EVENTS$
GROUP BY edge
-- The hours that are read from rows are few, and the index leads to them.
SETTINGS use_index_for_in_with_subqueries = 1
