-- The events of a slice as the fold writes them: the start in front, and the end where the session has been evicted. An
-- event's id contains its publisher, the number of its message, its position in the message, and the lane; the id
-- of an end contains its session's id.
INSERT INTO events
(
    partition, flushNumber, id, sessionId, projectId, deviceId, profileId, eventId, revenue, currency, orderId, name,
    createdAt, receivedAt, origin, path, query, hash, title, $SOURCE_AND_SETTING$, groups, properties, sdkName, sdkVersion
)
WITH
    timesMs[-1] + {sessionRetainMs:Int64} AS letGoMs,
    letGoMs < {endMs:Int64} AS isLetGo,
    length(timesMs) AS lastPlace,
    concat('/', ['blog', 'docs', 'products', 'help', 'news', 'shop'][1 + sipHash64(page) % 6],
        '/page-', toString(page)) AS path_,
    place BETWEEN 1 AND lastPlace AS isSent,
    toUInt32((atMs - {startMs:Int64}) * {messagesPerMs:Float64}) AS message,
    -- Visits of the next slice may have events in the same messages.
    dense_rank() OVER (PARTITION BY partition, message ORDER BY n, greatest(place, 1)) + {slice:UInt32} % 2 * 128
        AS placeInMessage,
    isSent AND name_ != {screenView:String} AS isCustom
SELECT
    partition,
    toUInt32(intDiv(if(place > lastPlace, letGoMs, atMs) - {startMs:Int64}, {flushMs:Int64}) + 1),
    if(place > lastPlace, toFixedString(concat(
        unhex('ffffffff'), substring(sessionId, 1, 4), substring(sessionId, 9, 8)), 16), toFixedString(concat(
        reinterpretAsFixedString(sipHash64(intDiv(atMs, {publisherMs:Int64}), {seed:UInt64})),
        reinterpretAsFixedString(message),
        reinterpretAsFixedString(toUInt32(
            placeInMessage + partition * 16777216 + if(place = 0, 2147483648, 0)))), 16)),
    sessionId,
    {site:String},
    deviceId,
    profileId,
    if(isSent AND sipHash64(n, 'script', {seed:UInt64}) / 18446744073709551616. < {eventIdShare:Float64},
        substring(lower(hex(sipHash64(n, place, {seed:UInt64}))), 1, 14), ''),
    amount,
    if(amount != 0, {currency:String}, ''),
    '',
    name_,
    fromUnixTimestamp64Milli(atMs),
    fromUnixTimestamp64Milli(if(place > lastPlace, letGoMs, atMs)),
    {origin:String},
    path_,
    if(isSent AND isCustom = 0 AND utmCampaign != '' AND place = 1, concat('?utm_campaign=', utmCampaign), ''),
    '',
    if(isSent AND NOT isCustom, concat('Title of ', path_), ''),
    $SOURCE_AND_SETTING$,
    [],
    if(isCustom,
        map('place', concat('p', toString(sipHash64(n, place) % 20)), 'plan', ['free', 'pro', 'team'][1 + n % 3]), map()),
    if(isSent, 'web', ''),
    if(isSent, '1.0.0', '')
FROM $SLICE$
ARRAY JOIN
    arrayConcat([0], arrayEnumerate(timesMs), if(isLetGo, [lastPlace + 1], [])) AS place,
    arrayConcat([timesMs[1]], timesMs, if(isLetGo, [timesMs[-1]], [])) AS atMs,
    arrayConcat([{sessionStart:String}], names, if(isLetGo, [{sessionEnd:String}], [])) AS name_,
    arrayConcat([pages[1]], pages, if(isLetGo, [pages[-1]], [])) AS page,
    arrayConcat([0], amounts, if(isLetGo, [0], [])) AS amount
