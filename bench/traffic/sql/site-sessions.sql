-- The sessions of a slice as the store has them after its merges: the last state of each, recomputed from the events.
-- Screen views take precedence as entry and exit, and the first event of these sessions is one.
INSERT INTO sessions
(
    sign, version, partition, flushNumber, projectId, deviceId, id, profileId, startedAt, endedAt, touchedAt,
    screenViews, otherEvents, revenue, entryAt, exitAt, entryIsView, exitIsView, exitOrigin, exitPath, entryOrigin, entryPath,
    $SOURCE_AND_SETTING$, ended, mixed
)
WITH
    page -> concat('/', ['blog', 'docs', 'products', 'help', 'news', 'shop'][1 + sipHash64(page) % 6],
        '/page-', toString(page)) AS pathOf,
    arraySum(amounts) AS earned,
    arrayMax(arrayMap((atMs, isView) -> if(isView, atMs, 0), timesMs, areViews)) AS exitMs
SELECT
    1,
    toUInt32(length(timesMs)),
    partition,
    toUInt32(intDiv(timesMs[-1] - {startMs:Int64}, {flushMs:Int64}) + 1),
    {site:String},
    deviceId,
    sessionId,
    profileId,
    fromUnixTimestamp64Milli(timesMs[1]),
    fromUnixTimestamp64Milli(timesMs[-1]),
    fromUnixTimestamp64Milli(timesMs[-1]),
    screenViews,
    otherEvents,
    if(earned = 0, map(), map({currency:String}, earned)),
    fromUnixTimestamp64Milli({sameTime:Int64}),
    fromUnixTimestamp64Milli(if(exitMs = timesMs[-1], {sameTime:Int64}, exitMs)),
    1,
    1,
    {origin:String},
    pathOf(pages[-1]),
    {origin:String},
    pathOf(pages[1]),
    $SOURCE_AND_SETTING$,
    0,
    profileId != ''
FROM $SLICE$
