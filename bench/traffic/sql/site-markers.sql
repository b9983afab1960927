-- The marker of each lane's last flush, as `writeMarkerRows` of processor/fold/session-rows.ts writes it.
INSERT INTO sessions (sign, version, partition, flushNumber, projectId, id)
SELECT
    1,
    {flushNumber:UInt32},
    number,
    {flushNumber:UInt32},
    '',
    toFixedString(concat(repeat('\0', 14), reinterpretAsFixedString(toUInt16(number))), 16)
FROM numbers({lanes:UInt64})
