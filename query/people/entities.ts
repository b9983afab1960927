import type { EntityAnswer, GroupEntity, ProfileEntity } from '../../ingest/entity-lookup.ts';
import type { ProfileId } from '../../ingest/event.ts';
import {
  type ExportAnswer,
  type ExportQuery,
  exportQuery,
  type GroupAnswer,
  type GroupQuery,
  type ProfileAnswer,
} from '../api.ts';
import { cursorBehindId, FIRST } from '../cursor.ts';
import { columnsText } from '../export/columns.ts';
import { readEventPageAtOnce } from '../export/event-page.ts';
import { answerExport, selectionOf } from '../export/events.ts';
import { exportedEventOf } from '../export/row.ts';
import { isFullPage, pageWithin } from '../page-size.ts';
import { RejectError } from '../reject.ts';
import { openSeam, type QuestionScope } from '../snapshot/question.ts';
import { NO_SEAM } from '../snapshot/seam.ts';
import { StoreAwayError, TooManyRowsError } from '../snapshot/store-rejects.ts';
import { unknownRecord } from './known-profile.ts';
import type { PeopleSources } from './people-sources.ts';

/** Events shown with a profile, newest first. */
const EVENTS_SHOWN = 20;
/**
 * For most profiles the index leaves few rows, so one statement over all time finds their events. For the others, the
 * newest hours with a full page are searched first.
 */
const FOUND_ROWS_MAX = 1_000_000;

/**
 * `GET /insights/{projectId}/profiles/{profileId}`: the profile and its last events. A profile without an update exists if an
 * event names it. While the store is unavailable, the answer has no events and is marked as partial.
 */
export async function answerProfile(
  sources: PeopleSources,
  scope: QuestionScope,
  id: string,
  foundRowsMax = FOUND_ROWS_MAX,
): Promise<ProfileAnswer> {
  const [answer, recent] = await Promise.all([
    sources.records.ask({ kind: 'profile', projectId: scope.site.storedId, id }),
    recentEvents(sources, scope, id, foundRowsMax),
  ]);
  rejectUnavailable(answer);
  const record = answer.kind === 'found' && answer.record.kind === 'profile' ? answer.record : undefined;
  const events = recent?.data ?? [];
  if (record === undefined && events.length === 0) throw unknownRecord('profile', id);
  return {
    ...profileFields(record, id),
    events,
    ...(recent === undefined || recent.partial ? { partial: true as const } : {}),
  };
}

/**
 * `GET /insights/{projectId}/groups/{groupId}`: the group and a page of its members, which are read from the store. A group
 * without an update exists if it has a member. While the store is unavailable, the answer has no members and is marked as
 * partial.
 */
export async function answerGroup(
  sources: PeopleSources,
  scope: QuestionScope,
  { id, ...page }: GroupQuery & { readonly id: string },
): Promise<GroupAnswer> {
  const [answer, found] = await Promise.all([
    sources.records.ask({ kind: 'group', projectId: scope.site.storedId, id }),
    groupMembers(sources, scope, { id, ...page }),
  ]);
  rejectUnavailable(answer);
  const record = answer.kind === 'found' && answer.record.kind === 'group' ? answer.record : undefined;
  if (record === undefined && (found === undefined || found.total === 0)) throw unknownRecord('group', id);
  return {
    ...groupFields(record, id),
    ...(found ?? { members: [], total: null, partial: true as const }),
  };
}

/** The cursor after a page of members. */
export function nextMembers({ limit }: GroupQuery, { members }: GroupAnswer): string | undefined {
  const last = members.at(-1);
  return last === undefined || !isFullPage(members, limit) ? undefined : cursorBehindId(last.id);
}

/**
 * A page of a group's members and their total; undefined while the store is unavailable. Waits until the store has every profile;
 * partial if an owner does not confirm that.
 */
async function groupMembers(
  { history, records }: Pick<PeopleSources, 'history' | 'records'>,
  { site }: QuestionScope,
  { id, limit, cursor }: GroupQuery & { readonly id: string },
): Promise<Pick<GroupAnswer, 'members' | 'total' | 'partial'> | undefined> {
  const bound = { site: site.storedId, group: id };
  const parameters = {
    ...bound,
    limit,
    behindId: cursor?.kind === 'behind' ? cursor.id : '',
    offset: cursor?.kind === 'rows' ? cursor.rows : 0,
  };
  try {
    history.rejectAway(site.storedId);
    const away = await records.untilStored(site.storedId);
    const [members, counts] = await Promise.all([
      history.ask({ name: 'group-members', parameters, isPage: true }, NO_SEAM),
      history.ask({ name: 'group-members-total', parameters: bound }, NO_SEAM),
    ]);
    const total = counts[0]?.members ?? 0;
    return { members: pageWithin(members), total, ...(away.length === 0 ? {} : { partial: true as const }) };
  } catch (error) {
    if (error instanceof StoreAwayError) return undefined;
    throw error;
  }
}

function groupFields(record: GroupEntity | undefined, id: string) {
  return {
    id,
    type: record?.type ?? '',
    name: record?.name ?? id,
    properties: pairsOf(record?.properties ?? []),
    ...knownTimes(record),
  };
}

/** The newest events of a profile; undefined while the store is unavailable. */
async function recentEvents(
  sources: PeopleSources,
  scope: QuestionScope,
  profileId: ProfileId,
  foundRowsMax: number,
): Promise<Pick<ExportAnswer, 'data' | 'partial'> | undefined> {
  const query = exportQuery.parse({ profileId, limit: String(EVENTS_SHOWN), includes: 'properties' });
  try {
    return await foundEvents(sources, scope, query, foundRowsMax);
  } catch (error) {
    if (error instanceof TooManyRowsError) return answerExport(sources, scope, query);
    if (error instanceof StoreAwayError) return undefined;
    throw error;
  }
}

/** The first page of `answerExport` by one statement. @throws {TooManyRowsError} if it would read more than `rowsMax` rows */
async function foundEvents(
  { history, hot }: PeopleSources,
  scope: QuestionScope,
  query: ExportQuery,
  rowsMax: number,
): Promise<Pick<ExportAnswer, 'data' | 'partial'>> {
  const seam = await openSeam({ history, hot }, scope, query);
  const page = {
    ...selectionOf(query, scope),
    ...{ cursor: FIRST, limit: query.limit, columns: columnsText(query.includes) },
  };
  const rows = await readEventPageAtOnce(history, seam, page, rowsMax);
  const includes = new Set(query.includes);
  return {
    data: rows.map((row) => exportedEventOf(row, scope.site.id, includes)),
    ...(seam.partial ? { partial: true as const } : {}),
  };
}

function profileFields(
  record: ProfileEntity | undefined,
  id: string,
): Omit<ProfileAnswer, 'events' | 'partial'> {
  return {
    id,
    firstName: record?.firstName ?? '',
    lastName: record?.lastName ?? '',
    email: record?.email ?? '',
    avatar: record?.avatar ?? '',
    properties: pairsOf(record?.properties ?? []),
    groups: [...(record?.groups ?? [])],
    ...knownTimes(record),
  };
}

function knownTimes(record: ProfileEntity | GroupEntity | undefined) {
  if (record === undefined) return { createdAt: null, updatedAt: null };
  const { createdAtMs, updatedAtMs } = record;
  return { createdAt: new Date(createdAtMs).toISOString(), updatedAt: new Date(updatedAtMs).toISOString() };
}

/** The sender chose the keys, so every key becomes an own property of the answer, `__proto__` too. */
function pairsOf(flat: readonly string[]): Record<string, string> {
  const pairs: [string, string][] = [];
  for (let index = 0; index < flat.length; index += 2) pairs.push([flat[index] ?? '', flat[index + 1] ?? '']);
  return Object.fromEntries(pairs);
}

function rejectUnavailable(answer: EntityAnswer): void {
  if (answer.kind === 'unavailable') throw new RejectError('lane-away', 'this record cannot be reached now');
}
