/** Conditions and columns that statements about profiles share. */

/** An event that names a profile outside of sessions: its visitor is that profile. */
export const NAMED_ALONE: string = `sessionId = toFixedString('', 16)
            AND profileId != ''
            AND name NOT IN {synthetic:Array(String)}`;

/**
 * An event behind the position of a page of a journey, up to the end of the page; see `people/journey.ts`. In a journey
 * that runs backwards, behind means before.
 */
export const ON_PAGE: string = `(if({isForward:UInt8}, createdAt > fromUnixTimestamp64Milli({behindAt:Int64}),
                createdAt < fromUnixTimestamp64Milli({behindAt:Int64}))
            OR createdAt = fromUnixTimestamp64Milli({behindAt:Int64})
                AND if({isForward:UInt8}, id > unhex({behindId:String}), id < unhex({behindId:String})))
        AND createdAt >= fromUnixTimestamp64Milli({from:Int64})
        AND createdAt <= fromUnixTimestamp64Milli({to:Int64})`;

/**
 * The current sessions that meet a condition, as tuples of id, profile and `columns`. A state and the row that replaces it cancel each
 * other, because the condition holds for both or for neither.
 */
export function currentStates(columns: string, condition: string): string {
  return `(
        SELECT argMaxIf((id, profileId, ${columns}), version, sign > 0) AS state
        FROM $SESSIONS[
            SELECT id, profileId, version, sign, ${columns}
            WHERE ${condition}
        ]$
        GROUP BY id
        HAVING sum(sign) > 0
    )`;
}
