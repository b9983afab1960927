import type {
  EntityAnswer,
  EntityQuestions,
  GroupEntity,
  ProfileEntity,
} from '../../ingest/entity-lookup.ts';
import { exportQuery, type GroupAnswer, type ProfileAnswer } from '../api.ts';
import { answerExport } from '../export/events.ts';
import { RejectError } from '../reject.ts';
import { StoreAwayError } from '../snapshot/history.ts';
import type { QuestionScope, Sources } from '../snapshot/question.ts';

/** Events shown with a profile, newest first. */
const EVENTS_SHOWN = 20;

/** The sources of questions about profiles and groups. */
export interface EntitySources extends Sources {
  readonly records: EntityQuestions;
}

/**
 * `GET /insights/{projectId}/profiles/{profileId}`: the profile and its last events. A profile that no update describes
 * exists if an event names it. While the store is away, the answer has no events and is marked as partial.
 */
export async function answerProfile(
  sources: EntitySources,
  scope: QuestionScope,
  id: string,
): Promise<ProfileAnswer> {
  const [answer, recent] = await Promise.all([
    sources.records.ask({ kind: 'profile', projectId: scope.site.storedId, id }),
    recentEvents(sources, scope, id),
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

/** `GET /insights/{projectId}/groups/{groupId}` */
export async function answerGroup(
  sources: EntitySources,
  scope: QuestionScope,
  id: string,
): Promise<GroupAnswer> {
  const answer = await sources.records.ask({ kind: 'group', projectId: scope.site.storedId, id });
  rejectUnavailable(answer);
  if (answer.kind !== 'found' || answer.record.kind !== 'group') throw unknownRecord('group', id);
  const { type, name, properties, createdAtMs, updatedAtMs }: GroupEntity = answer.record;
  return { id, type, name, properties: pairsOf(properties), ...timesOf(createdAtMs, updatedAtMs) };
}

async function recentEvents(sources: EntitySources, scope: QuestionScope, profileId: string) {
  try {
    const query = exportQuery.parse({ profileId, limit: String(EVENTS_SHOWN), includes: 'properties' });
    return await answerExport(sources, scope, query);
  } catch (error) {
    if (error instanceof StoreAwayError) return undefined;
    throw error;
  }
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
    ...(record === undefined
      ? { createdAt: null, updatedAt: null }
      : timesOf(record.createdAtMs, record.updatedAtMs)),
  };
}

function timesOf(createdAtMs: number, updatedAtMs: number) {
  return { createdAt: new Date(createdAtMs).toISOString(), updatedAt: new Date(updatedAtMs).toISOString() };
}

/** The sender chose the keys, so every key becomes an own property of the answer, `__proto__` too. */
function pairsOf(flat: readonly string[]): Record<string, string> {
  const pairs: [string, string][] = [];
  for (let index = 0; index < flat.length; index += 2) pairs.push([flat[index] ?? '', flat[index + 1] ?? '']);
  return Object.fromEntries(pairs);
}

function rejectUnavailable(answer: EntityAnswer): void {
  if (answer.kind === 'unavailable')
    throw new RejectError('partition-away', 'the partition that holds this record cannot be reached now');
}

function unknownRecord(what: string, id: string): RejectError {
  return new RejectError('unknown-record', `no such ${what}: ${JSON.stringify(id)}`);
}
