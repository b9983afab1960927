import type { StoredId } from '../../infra/accounts/ids.ts';
import type { ProfileId } from '../../ingest/event.ts';
import { LISTED_COLUMNS, type ListedSessionRow } from '../insights/session-list.ts';
import type { StatementRunner } from '../snapshot/history.ts';
import type { Seam } from '../snapshot/seam.ts';
import type { AnswerRow } from '../sql/answer-rows.ts';
import type { KeptSession, KeptSessions } from './kept-sessions.ts';

/**
 * Maximum number of a profile's states that are ordered here: 66 ms for a profile of a million, instead of 77 ms when
 * the store groups and orders them.
 */
export const STATES_MAX = 1_000;

/**
 * The columns that identify a state. A hot state keeps its version while events are added, and each event raises one of
 * the two numbers of events.
 */
type StateMark = AnswerRow<'profile-marks'>;

/** The sources of a profile's sessions. */
export interface ProfilePlace {
  readonly history: StatementRunner;
  readonly kept?: KeptSessions | undefined;
  readonly seam: Seam;
  /** The site's `storedId`. */
  readonly site: StoredId;
  readonly profileId: ProfileId;
}

/**
 * The sessions of a profile in their current states, unordered; undefined if it has more than `statesMax` states. A
 * page about a profile asks for its sessions and its figures together, and the statement for both runs once
 * (`shared-statements.ts`).
 *
 * If the states of an earlier question are kept, the store only returns the marks of current states: few columns
 * instead of all.
 */
export async function sessionsOfProfile(
  place: ProfilePlace,
  statesMax: number,
): Promise<readonly ListedSessionRow[] | undefined> {
  const { kept, site, profileId } = place;
  const known = kept?.get(site, profileId);
  if (known !== undefined) {
    const marks = await place.history.ask(
      { name: 'profile-marks', parameters: boundOf(place, statesMax) },
      place.seam,
    );
    if (marks.length > statesMax) return undefined;
    const rows = newestStates(marks).map((mark) => knownRow(known.get(mark.id), mark));
    if (isComplete(rows)) return rows;
  }
  const texts = { columns: LISTED_COLUMNS };
  const states = await place.history.ask(
    { name: 'profile-states', parameters: boundOf(place, statesMax), texts },
    place.seam,
  );
  if (states.length > statesMax) return undefined;
  const sessions = newestStates(states).map(({ version, sign: _sign, ...row }) => ({ version, row }));
  kept?.keep(site, profileId, sessions);
  return sessions.map(({ row }) => row);
}

function boundOf({ site, profileId }: ProfilePlace, statesMax: number) {
  return { site, profileId, limit: statesMax + 1 };
}

function knownRow(known: KeptSession | undefined, mark: StateMark): ListedSessionRow | undefined {
  if (known?.version !== mark.version) return undefined;
  const { row } = known;
  return row.screenViews === mark.screenViews && row.otherEvents === mark.otherEvents ? row : undefined;
}

function isComplete(rows: readonly (ListedSessionRow | undefined)[]): rows is readonly ListedSessionRow[] {
  return rows.every((row) => row !== undefined);
}

/** The newest state of each session whose states do not cancel out. */
function newestStates<State extends StateMark>(states: readonly State[]): State[] {
  const sessions = new Map<string, { signs: number; newest: State | undefined }>();
  for (const state of states) {
    const session = sessions.get(state.id) ?? { signs: 0, newest: undefined };
    sessions.set(state.id, session);
    session.signs += state.sign;
    const isNewer = session.newest === undefined || BigInt(state.version) > BigInt(session.newest.version);
    if (state.sign > 0 && isNewer) session.newest = state;
  }
  return [...sessions.values()].flatMap(({ signs, newest }) =>
    signs <= 0 || newest === undefined ? [] : [newest],
  );
}
