import { LISTED_COLUMNS, type ListedSessionRow } from '../insights/session-list.ts';
import type { StatementRunner } from '../snapshot/history.ts';
import type { Seam } from '../snapshot/seam.ts';

/**
 * Up to so many states of a profile are put in order here. Without grouping and ordering them the store takes 66 in place of 77 ms,
 * for one of a million profiles.
 */
export const STATES_MAX = 1_000;

interface StateRow extends ListedSessionRow {
  /** Decimal text. */
  readonly version: string;
  readonly sign: 1 | -1;
}

/** What the sessions of a profile are read from. */
export interface ProfilePlace {
  readonly history: StatementRunner;
  readonly seam: Seam;
  /** The site's `storedId`. */
  readonly site: string;
  readonly profileId: string;
}

/**
 * The sessions of a profile, each in its current state, in no order; undefined when it has more than so many states. A page about a
 * profile asks for its sessions and its figures at once, and the statement for both runs once (`shared-statements.ts`).
 */
export async function sessionsOfProfile(
  { history, seam, site, profileId }: ProfilePlace,
  statesMax: number,
): Promise<readonly ListedSessionRow[] | undefined> {
  const parameters = { site, profileId, limit: statesMax + 1 };
  const states = await history.ask<StateRow>(
    { name: 'profile-states', parameters, texts: { columns: LISTED_COLUMNS } },
    seam,
  );
  return states.length > statesMax ? undefined : newestStates(states);
}

/** The newest state of each session whose states do not cancel out. */
function newestStates(states: readonly StateRow[]): ListedSessionRow[] {
  const sessions = new Map<string, { signs: number; newest: StateRow | undefined }>();
  for (const state of states) {
    const session = sessions.get(state.id) ?? { signs: 0, newest: undefined };
    sessions.set(state.id, session);
    session.signs += state.sign;
    const isNewer = session.newest === undefined || BigInt(state.version) > BigInt(session.newest.version);
    if (state.sign > 0 && isNewer) session.newest = state;
  }
  return [...sessions.values()].flatMap(({ signs, newest }) => {
    if (signs <= 0 || newest === undefined) return [];
    const { version: _version, sign: _sign, ...row } = newest;
    return [row];
  });
}
