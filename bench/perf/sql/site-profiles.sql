-- A document for each of many profiles, of which the first ones have sessions.
INSERT INTO profiles (projectId, id, firstName, lastName, email, avatar, properties, groups, createdAt, updatedAt, updateIds, version)
SELECT
    {site:String},
    concat('user-', toString(number)),
    ['Ada', 'Ben', 'Cleo', 'Dan', 'Eva', 'Finn', 'Gina', 'Hugo'][1 + sipHash64(number, 1) % 8],
    concat('Family', toString(sipHash64(number, 2) % 50000)),
    concat('user', toString(number), '@example.org'),
    '',
    map('plan', ['free', 'pro', 'team'][1 + number % 3]),
    [],
    fromUnixTimestamp64Milli({endMs:Int64} - toInt64(sipHash64(number, 3) % 31536000000)),
    fromUnixTimestamp64Milli({endMs:Int64}),
    [],
    1
FROM numbers({profiles:UInt64})
