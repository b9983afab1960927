-- One slice of the sessions of a made-up site, a row each, with its events as arrays. Everything follows from the
-- session's number and the seed: `u` is a number from 0 to 1 for each purpose. The parameters have the names of
-- made-visits.ts.
CREATE OR REPLACE TABLE $SLICE$ ENGINE = Memory AS
WITH
    (n, purpose) -> sipHash64(n, purpose, {seed:UInt64}) / 18446744073709551616. AS u,
    -- 1 to `size`; a rank has a weight of one over it.
    (share, size) -> toUInt32(floor(exp(share * log(size + 1)))) AS rank,
    (share, mean, most) -> toUInt8(least(most, floor(-log(1 - share) * mean))) AS exponential,
-- When: the day by its share of the year, the hour by its share of the day.
placed AS
(
    SELECT
        number AS n,
        transform(roundDown(n, {dayEdges:Array(UInt64)}), {dayEdges:Array(UInt64)},
            arrayEnumerate({dayEdges:Array(UInt64)}), 1) AS day,
        (n - {dayEdges:Array(UInt64)}[day] + u(n, 1)) / ({dayEdges:Array(UInt64)}[day + 1] - {dayEdges:Array(UInt64)}[day])
            AS ofDay,
        arrayCount(edge -> edge <= ofDay, {hourEdges:Array(Float64)}) AS hour,
        (ofDay - {hourEdges:Array(Float64)}[hour]) / ({hourEdges:Array(Float64)}[hour + 1] - {hourEdges:Array(Float64)}[hour])
            AS ofHour
    FROM numbers({first:UInt64}, {count:UInt64})
),
-- The number of events, with the kind, page and delay of each. The first is a screen view; any other kind of event
-- happens on the page viewed before it.
filled AS
(
    SELECT
        n,
        if(u(n, 2) < {bounceShare:Float64}, 1, 2 + exponential(u(n, 3), {furtherViewsMean:Float64}, {furtherViewsMax:UInt8}))
            AS screenViews,
        exponential(u(n, 4), {otherEventsMean:Float64}, {otherEventsMax:UInt8}) AS otherEvents,
        range(toUInt32(screenViews + otherEvents)) AS places,
        arrayConcat([1], arrayMap(x -> x < screenViews,
            arraySort(x -> sipHash64(n, x, {seed:UInt64}), arraySlice(places, 2)))) AS areViews,
        arrayCumSum(arrayMap(i -> if(i = 0, 0, toInt64(2000 + u(n * 32 + i, 5) * u(n * 32 + i, 6) * 110000)), places))
            AS offsetsMs,
        arrayFill((page, isView) -> isView,
            arrayMap(i -> rank(u(n * 32 + i, 7), {pages:UInt32}), places), areViews) AS pages,
        arrayMap((i, isView) -> multiIf(isView, {screenView:String}, u(n * 32 + i, 8) < {revenueShare:Float64}, {revenue:String},
            ['link_out', 'button_click', 'form_submit', 'signup'][1 + rank(u(n * 32 + i, 9), 4) % 4]), places, areViews)
            AS names,
        arrayMap((i, name) -> if(name = {revenue:String}, toInt64(exp(6 + 3 * u(n * 32 + i, 10))), 0), places, names)
            AS amounts,
        least({startMs:Int64} + (day - 1) * 86400000 + toInt64((hour - 1 + ofHour) * 3600000),
            {endMs:Int64} - 1 - offsetsMs[-1]) AS startedMs
    FROM placed
),
-- The visitor: a known profile, a visitor of some hours ago, or a new one. A device belongs to a visitor for a day.
visited AS
(
    SELECT
        *,
        arrayMap(offset -> startedMs + offset, offsetsMs) AS timesMs,
        u(n, 11) < {knownShare:Float64} AS isKnown,
        multiIf(isKnown, toUInt64(u(n, 12) * {profiles:UInt64}),
            u(n, 13) < {returnShare:Float64},
            toUInt64(greatest(0, toInt64(n) - toInt64({sessionsPerHour:Float64} * (1.5 + 10 * u(n, 14))))),
            n) AS visitor,
        if(isKnown, concat('user-', toString(visitor)), '') AS profileId,
        lower(hex(sipHash128(isKnown, visitor, intDiv(startedMs, 86400000), {seed:UInt64}))) AS deviceId,
        sipHash64(isKnown, visitor, {seed:UInt64}) AS agent
    FROM filled
),
-- From where, and with what. The visitor's facts follow from `agent`, the visit's from its number.
described AS
(
    SELECT
        *,
        u(n, 20) AS sourceShare,
        rank(u(n, 21), {referrers:UInt32}) AS referrerRank,
        u(n, 22) < {utmShare:Float64} AS isCampaign,
        rank(u(n, 23), 40) AS campaignRank,
        rank(u(agent, 24), 60) AS countryRank,
        rank(u(agent, 25), 80) AS cityRank,
        rank(u(agent, 26), 12) AS releaseRank,
        1 + toUInt8(u(agent, 27) * u(agent, 28) * 6) AS browserPlace,
        1 + toUInt8(u(agent, 29) * u(agent, 30) * 5) AS systemPlace,
        multiIf(sourceShare < 0.40, 1, sourceShare < 0.70, 2, sourceShare < 0.76, 3, sourceShare < 0.84, 4, 5) AS sourcePlace
    FROM visited
)
SELECT
    n, deviceId, profileId, startedMs, timesMs, names, areViews, pages, amounts, screenViews, otherEvents,
    -- Like `sessionIdOf` of ingest/event.ts, with a random number as hash: the half hour of the first event, which was
    -- not late.
    toFixedString(concat(
        reinterpretAsFixedString(byteSwap(toUInt32(intDiv(startedMs, {sessionGapMs:Int64})))), repeat('\0', 4),
        reinterpretAsFixedString(sipHash64(n, {seed:UInt64}, 'session'))), 16) AS sessionId,
    -- `laneOf` of ingest/event.ts, from the point at which the site's id has been hashed.
    arrayFold((hash, byte) -> toUInt32(bitXor(hash, byte) * 16777619),
        arrayMap(i -> reinterpretAsUInt8(substring(deviceId, i, 1)), range(1, 33)), {laneHash:UInt32}) AS deviceHash,
    toUInt16(bitXor(deviceHash, bitShiftRight(deviceHash, 15)) % {lanes:UInt16}) AS partition,
    ['', 'https://www.google.com/', 'https://www.bing.com/', 'https://www.facebook.com/',
        concat('https://site', toString(referrerRank % 900), '.example/post/', toString(referrerRank))][sourcePlace] AS referrer,
    ['', 'Google', 'Bing', 'Facebook', ''][sourcePlace] AS referrerName,
    ['', 'search', 'search', 'social', 'unknown'][sourcePlace] AS referrerType,
    if(isCampaign, ['google', 'newsletter', 'facebook', 'partner'][1 + campaignRank % 4], '') AS utmSource,
    if(isCampaign, ['cpc', 'email', 'social', 'referral'][1 + campaignRank % 4], '') AS utmMedium,
    if(isCampaign, concat('campaign-', toString(campaignRank)), '') AS utmCampaign,
    '' AS utmTerm,
    if(isCampaign AND campaignRank < 4, concat('banner-', toString(n % 3)), '') AS utmContent,
    if(isCampaign, ['Paid Search', 'Email', 'Organic Social', 'Affiliates'][1 + campaignRank % 4],
        ['Direct', 'Organic Search', 'Organic Search', 'Organic Social', 'Referral'][sourcePlace]) AS channel,
    ['DE', 'US', 'FR', 'GB', 'AT', 'CH', 'NL', 'PL', 'IT', 'ES', 'SE', 'DK', 'BE', 'CZ', 'IN', 'CA', 'BR', 'JP', 'AU', 'FI',
        'NO', 'PT', 'IE', 'HU', 'RO', 'GR', 'TR', 'MX', 'UA', 'ZA', 'KR', 'CN', 'SG', 'ID', 'AR', 'CL', 'CO', 'IL', 'AE',
        'EG', 'NG', 'KE', 'PH', 'VN', 'TH', 'MY', 'NZ', 'SK', 'SI', 'HR', 'BG', 'RS', 'LT', 'LV', 'EE', 'LU', 'IS', 'PK',
        'BD', 'PE'][countryRank] AS country,
    concat('Region ', country, '-', toString(cityRank % 12)) AS region,
    concat('City ', country, '-', toString(cityRank)) AS city,
    toFloat32(countryRank * 2.5 - 60 + cityRank * 0.13) AS longitude,
    toFloat32(countryRank * 0.9 + cityRank * 0.07) AS latitude,
    ['Chrome', 'Safari', 'Firefox', 'Edge', 'Samsung Internet', 'Opera'][browserPlace] AS browser,
    concat(toString(141 - releaseRank - browserPlace), '.0') AS browserVersion,
    ['Windows', 'iOS', 'Android', 'macOS', 'Linux'][systemPlace] AS os,
    toString(20 - systemPlace - releaseRank % 7) AS osVersion,
    ['desktop', 'mobile', 'mobile', 'desktop', 'desktop'][systemPlace] AS device,
    ['', 'Apple', ['Samsung', 'Google', 'Xiaomi'][1 + agent % 3], 'Apple', ''][systemPlace] AS brand,
    ['', 'iPhone', ['Galaxy S24', 'Pixel 9', 'Redmi 13'][1 + agent % 3], 'Macintosh', ''][systemPlace] AS model,
    concat(['de', 'en', 'fr', 'en', 'de', 'de', 'nl', 'pl', 'it', 'es', 'sv', 'da', 'fr', 'cs', 'en', 'en', 'pt', 'ja', 'en', 'fi'][
        1 + (countryRank - 1) % 20], '-', country) AS language,
    concat(['Europe/City-', 'America/City-', 'Asia/City-'][1 + countryRank % 3], toString(countryRank)) AS timezone,
    [['1920x1080', '1536x864', '1366x768', '2560x1440'], ['390x844', '393x852', '430x932', '375x667'],
        ['360x800', '412x915', '384x832', '393x873'], ['1440x900', '1512x982', '1728x1117', '1680x1050'],
        ['1920x1080', '1366x768', '2560x1440', '3840x2160']][systemPlace][rank(u(agent, 31), 4)] AS screen
FROM described
