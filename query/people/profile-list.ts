import { DAY_MS, HOUR_MS } from '../../infra/durations.ts';
import { SESSION_END, SESSION_START } from '../../ingest/event.ts';
import { readProfiles, unknownProfile } from '../export/profiles.ts';
import type { Insight } from '../http/endpoint.ts';
import { isFullPage, pageWithin } from '../page-size.ts';
import { byBytes } from '../rank-order.ts';
import { RejectError } from '../reject.ts';
import type { StatementRunner } from '../snapshot/history.ts';
import { openSeam, type QuestionScope } from '../snapshot/question.ts';
import type { Seam } from '../snapshot/seam.ts';
import { awaitRecords, EVER, type PeopleSources } from './people-sources.ts';
import { type ActivityRow, activityOf, NO_ACTIVITY } from './profile-activity.ts';
import { type ProfileCondition, profileConditionOf } from './profile-condition.ts';
import {
  cursorBehindProfile,
  type ListedProfile,
  NO_VALUE,
  type ProfileCursor,
  type ProfileListAnswer,
  type ProfileListQuery,
  type ProfileSort,
  profileListAnswer,
  profileListQuery,
} from './profile-list-api.ts';

/** Days of the windows that are searched in turn, newest visits first; then all visits. */
const WINDOW_DAYS = [1, 8, 64];
/** An event happens at most a minute after it is received, and a session is touched when its newest event is received. */
const TOUCHED_LEAD_MS = HOUR_MS;
/** Above every sum of amounts; sums have 128 bits. */
const HIGHEST_VALUE = '170141183460469231731687303715884105727';
/** Up to this number, profiles are read by their ids, so the store skips the visits of all others. */
const CANDIDATES_MAX = 1_000;

/** The value of each order, as text of the statement; the highest is first. */
const FIGURES: Readonly<Record<ProfileSort, string>> = {
  lastSeen: 'max(seenMs)',
  sessions: 'sum(begun)',
  revenue: 'sum(toInt128(amount))',
  createdAt: 'max(madeMs)',
};

/** A profile's place in the order: the value as decimal text. */
interface Place {
  readonly id: string;
  readonly value: string;
}

/** A page of the list, with the place of its last row for the cursor after it. */
export interface ProfilePage {
  readonly rows: ProfileListAnswer;
  readonly last: Place | undefined;
}

/** `GET /insights/{projectId}/profiles` */
export function profileListInsight(
  sources: PeopleSources,
  candidatesMax = CANDIDATES_MAX,
): Insight<ProfileListQuery, ProfileListAnswer> {
  // The answer is a bare array, which has no room for the value that the cursor needs.
  const places = new WeakMap<ProfileListAnswer, Place>();
  return {
    path: 'profiles',
    about: {
      summary: 'Profiles, with what their visits add up to',
      description: [
        'A profile is listed when an update describes it, when it is the profile of a session, or when an event outside of sessions names it. A profile that is named only within sessions which have another profile by now is not listed: those events count for the other one, as in every figure of visitors. A person who is being erased is not listed.',
        'Sessions are those whose profile it is now, over all time that the site retains. Revenue is that of these sessions, credited payments included, and of events outside of sessions that name the profile.',
        '`search`, `property` and `filters` must all hold. They apply to the newest update of each profile; without an update, all fields but the id are empty. Sorted by `sort` in descending order, then by id. A page is read as of one moment for its order; what a visit adds while the page is read shows in its row.',
        'The newest updates are waited for. When an owner of them cannot say that they are stored, the answer is 503, or with `partial=true` an answer without them and without a mark.',
      ].join('\n\n'),
      answer: profileListAnswer,
    },
    schema: profileListQuery,
    answer: async (scope, query) => {
      const { rows, last } = await answerProfileList(sources, scope, query, candidatesMax);
      if (last !== undefined) places.set(rows, last);
      return rows;
    },
    next: ({ sort, limit }, rows) => {
      const last = places.get(rows);
      return last === undefined || !isFullPage(rows, limit)
        ? undefined
        : cursorBehindProfile(sort, last.value, last.id);
    },
  };
}

/** Answers a page of a site's profiles: first finds the profiles on it, then reads their data. */
export async function answerProfileList(
  { history, hot, records }: PeopleSources,
  scope: QuestionScope,
  query: ProfileListQuery,
  candidatesMax = CANDIDATES_MAX,
): Promise<ProfilePage> {
  const cursor = cursorOf(query);
  const condition = profileConditionOf(query);
  const [seam] = await Promise.all([
    openSeam({ history, hot }, scope, query),
    awaitRecords(records, scope, query),
  ]);
  const wanted = { ...query, cursor, condition, candidatesMax };
  const candidates = await candidatesAmong(history, seam, scope, wanted);
  const read = (ids: Iterable<string>) => readActivities(history, seam, scope, new Set(ids));
  // The sums of a few profiles also give their order.
  const ofCandidates = candidates && (await read(candidates.keys()));
  const places =
    candidates && ofCandidates
      ? placesAmong(candidates, ofCandidates, scope, wanted)
      : await placesOf(history, seam, scope, wanted);
  const ids = new Set(places.map(({ id }) => id));
  const [profiles, activities] = await Promise.all([
    readProfiles(history, seam, scope.site.storedId, ids),
    ofCandidates ?? read(ids),
  ]);
  const listed = places.map(({ id }): ListedProfile => {
    const activity = activities.get(id);
    return {
      ...(profiles.get(id) ?? unknownProfile(id)),
      ...(activity === undefined ? NO_ACTIVITY : activityOf(activity, scope.site.currency)),
    };
  });
  const rows = pageWithin(listed);
  return { rows, last: places[rows.length - 1] };
}

/** The ids of profiles, and their creation times as decimal text; `NO_VALUE` for a profile without an update. */
type Candidates = ReadonlyMap<string, string>;

/** The places of a page among candidates; profiles with neither a record nor a visit of their own are not listed. */
function placesAmong(
  candidates: Candidates,
  activities: ReadonlyMap<string, ActivityRow>,
  { site }: QuestionScope,
  { sort, limit, cursor }: PlacesQuery,
): readonly Place[] {
  const figures = { activities, candidates, currency: site.currency };
  const places = [...candidates]
    .filter(([id, madeMs]) => madeMs !== NO_VALUE || activities.has(id))
    .map(([id]) => ({ id, value: BigInt(figureOf(sort, id, figures)) }))
    .sort((a, b) => (a.value === b.value ? byBytes(a.id, b.id) : a.value > b.value ? -1 : 1));
  const behind = cursor.kind === 'behind' ? { value: BigInt(cursor.value), id: cursor.id } : undefined;
  const from = cursor.kind === 'rows' ? cursor.rows : 0;
  return places
    .filter(
      ({ id, value }) =>
        behind === undefined ||
        value < behind.value ||
        (value === behind.value && byBytes(id, behind.id) > 0),
    )
    .slice(from, from + limit)
    .map(({ id, value }) => ({ id, value: String(value) }));
}

/** The value of an order, as in `FIGURES`. */
function figureOf(
  sort: ProfileSort,
  id: string,
  {
    activities,
    candidates,
    currency,
  }: {
    readonly activities: ReadonlyMap<string, ActivityRow>;
    readonly candidates: Candidates;
    readonly currency: string;
  },
): number | string {
  const activity = activities.get(id);
  if (sort === 'sessions') return activity?.sessions ?? 0;
  if (sort === 'revenue') return activity?.revenue[currency] ?? 0;
  return (sort === 'lastSeen' ? activity?.lastMs : candidates.get(id)) ?? NO_VALUE;
}

async function readActivities(
  history: StatementRunner,
  seam: Seam,
  { site }: QuestionScope,
  ids: ReadonlySet<string>,
): Promise<ReadonlyMap<string, ActivityRow>> {
  if (ids.size === 0) return new Map();
  const parameters = { site: site.storedId, ids: [...ids], synthetic: [SESSION_START, SESSION_END] };
  const rows = await history.ask({ name: 'profile-activity', parameters }, seam);
  return new Map(rows.map((row) => [row.id, row]));
}

interface PlacesQuery extends Pick<ProfileListQuery, 'sort' | 'limit'> {
  readonly cursor: ProfileCursor;
  /** Undefined for every profile. */
  readonly condition: ProfileCondition | undefined;
  readonly candidatesMax: number;
}

/** The rows to read: visits since a time, or records. */
interface Looked {
  readonly fromMs: number;
  readonly ofVisits: 0 | 1;
  readonly ofRecords: 0 | 1;
}

const EVERYTHING: Looked = { fromMs: EVER.fromMs, ofVisits: 1, ofRecords: 1 };

async function placesOf(
  history: StatementRunner,
  seam: Seam,
  scope: QuestionScope,
  query: PlacesQuery,
): Promise<readonly Place[]> {
  for (const looked of narrowLooks(query, scope.nowMs)) {
    const places = await placesIn(history, seam, scope, query, looked);
    // A full page within a part of the values is the page, because all other profiles come after it.
    if (places.length === query.limit) return places;
  }
  return placesIn(history, seam, scope, query, EVERYTHING);
}

/** The profiles that may meet the condition; undefined without a condition, and when they are too many to name. */
async function candidatesAmong(
  history: StatementRunner,
  seam: Seam,
  { site }: QuestionScope,
  { condition, candidatesMax }: PlacesQuery,
): Promise<Candidates | undefined> {
  if (condition === undefined) return undefined;
  const { records, visits, parameters } = condition;
  const rows = await history.ask(
    {
      name: 'profile-candidates',
      parameters: {
        ...parameters,
        site: site.storedId,
        synthetic: [SESSION_START, SESSION_END],
        from: EVER.fromMs,
        to: EVER.toMs,
        never: NO_VALUE,
        // A profile with a record and a visit comes twice.
        limit: 2 * candidatesMax + 1,
      },
      texts: { events: records, sessions: visits },
    },
    seam,
  );
  const candidates = new Map<string, string>();
  for (const { id, madeMs } of rows)
    if (madeMs !== NO_VALUE || !candidates.has(id)) candidates.set(id, madeMs);
  return candidates.size > candidatesMax ? undefined : candidates;
}

/** Parts of the data, narrow ones first, each with the first profiles of the order. */
function narrowLooks({ sort, cursor }: PlacesQuery, nowMs: number): readonly Looked[] {
  if (cursor.kind === 'behind' && cursor.value === NO_VALUE) return [];
  if (sort === 'createdAt') return [{ fromMs: EVER.fromMs, ofVisits: 0, ofRecords: 1 }];
  if (sort !== 'lastSeen') return [];
  const newestMs = cursor.kind === 'behind' ? Math.min(nowMs, Number(cursor.value)) : nowMs;
  return WINDOW_DAYS.map((days) => ({ fromMs: newestMs - days * DAY_MS, ofVisits: 1, ofRecords: 0 }));
}

async function placesIn(
  history: StatementRunner,
  seam: Seam,
  { site }: QuestionScope,
  { sort, limit, cursor, condition }: PlacesQuery,
  { fromMs, ofVisits, ofRecords }: Looked,
): Promise<Place[]> {
  const isBehind = cursor.kind === 'behind';
  const parameters = {
    ...condition?.parameters,
    site: site.storedId,
    currency: site.currency,
    synthetic: [SESSION_START, SESSION_END],
    from: Math.max(fromMs, EVER.fromMs),
    to: EVER.toMs,
    touchedFrom: Math.max(fromMs - TOUCHED_LEAD_MS, EVER.fromMs),
    ofVisits,
    ofRecords,
    never: NO_VALUE,
    isFirst: isBehind ? 0 : 1,
    behindValue: isBehind ? cursor.value : HIGHEST_VALUE,
    behindId: isBehind ? cursor.id : '',
    limit,
    offset: isBehind ? 0 : cursor.rows,
  };
  return history.ask(
    { name: 'profile-places', parameters, texts: { events: condition?.any ?? '1', figure: FIGURES[sort] } },
    seam,
  );
}

function cursorOf({ cursor, sort }: ProfileListQuery): ProfileCursor {
  if (cursor === undefined) return { kind: 'rows', rows: 0 };
  if (cursor.kind === 'behind' && cursor.sort !== sort)
    throw new RejectError('invalid', `cursor: it belongs to sort=${cursor.sort}`);
  return cursor;
}
