/** Conditions and columns that statements about profiles share. */

/** An event that names a profile outside of sessions: its visitor is that profile. */
export const NAMED_ALONE: string = `sessionId = toFixedString('', 16)
            AND profileId != ''
            AND name NOT IN {synthetic:Array(String)}`;

/**
 * The current states of the stored sessions of a profile that are not hot, as tuples of `columns`. A session that went to
 * another profile cancels out here; of the hot ones the newest state says whose they are.
 */
export function storedStates(columns: string, condition: string): string {
  return `SELECT argMaxIf((id, profileId, ${columns}), version, sign > 0) AS state
        FROM sessions
        WHERE projectId = {site:String}
            AND ${condition}
            $IF_HOT$ AND id NOT IN (SELECT id FROM hot) $END_HOT$
        GROUP BY id
        HAVING sum(sign) > 0`;
}

/** The same with those of the hot sessions, as `hot` has them. */
export function currentStates(columns: string, condition: string): string {
  return `(
        ${storedStates(columns, condition)}
        $IF_HOT$
        UNION ALL
        SELECT (id, profileId, ${columns}) AS state
        FROM hot
        WHERE ${condition}
        $END_HOT$
    )`;
}
