import type { StoredId } from '../../infra/accounts/ids.ts';
import type { EntityQuestions } from '../../ingest/entity-lookup.ts';
import { type ExportGroup, type ExportShape, nullOr } from '../../processor/event-export.ts';
import type { ExportedProfile } from '../api.ts';
import { RejectError } from '../reject.ts';
import type { StatementRunner } from '../snapshot/history.ts';
import type { QuestionScope, Sources } from '../snapshot/question.ts';
import type { Seam } from '../snapshot/seam.ts';
import type { AnswerRow } from '../sql/answer-rows.ts';

/**
 * The profiles of exported events: for each event its `profileId`'s present profile. A page reads the profiles of its
 * rows with one statement; a stream joins them in the store. Both read after the owners confirmed that the store has
 * all updates, and treat a profile that is being erased like one without a record.
 */

/** The sources of exports. */
export interface ExportSources extends Sources {
  readonly records: Pick<EntityQuestions, 'untilStored'>;
}

/**
 * Waits until the store has the site's profiles; resolves to true if some cannot be reached.
 * @throws {RejectError} in that case, unless the question has `partial`
 */
export async function awaitProfiles(
  { records }: Pick<ExportSources, 'records'>,
  { site }: Pick<QuestionScope, 'site'>,
  { partial }: { readonly partial: boolean },
): Promise<boolean> {
  const away = await records.untilStored(site.storedId);
  if (away.length === 0 || partial) return away.length > 0;
  const message = 'the newest profiles cannot be reached now; leave profile out of includes';
  throw new RejectError('lane-away', message);
}

/** The profiles with these ids that have a record, by id. Reads the first ids in their order, as far as their profiles fit into a page. */
export async function readProfiles(
  history: StatementRunner,
  seam: Seam,
  site: StoredId,
  ids: ReadonlySet<string>,
): Promise<ReadonlyMap<string, ExportedProfile>> {
  if (ids.size === 0) return new Map();
  const parameters = { site, ids: [...ids] };
  const rows = await history.ask({ name: 'export-profiles', parameters, isPage: true }, seam);
  return new Map(rows.map((row) => [row.id, profileOf(row)]));
}

function profileOf({ createdAt, updatedAt, ...row }: AnswerRow<'export-profiles'>): ExportedProfile {
  return {
    ...row,
    groups: [...row.groups],
    createdAt: new Date(createdAt).toISOString(),
    updatedAt: new Date(updatedAt).toISOString(),
  };
}

/** A profile without an update, named by an event. */
export function unknownProfile(id: string): ExportedProfile {
  const texts = { firstName: '', lastName: '', email: '', avatar: '' };
  return { id, ...texts, properties: {}, groups: [], createdAt: null, updatedAt: null };
}

/** Fields with the sender's text, and their column names in a flat format. */
const TEXTS = [
  ['firstName', 'profileFirstName'],
  ['lastName', 'profileLastName'],
  ['email', 'profileEmail'],
  ['avatar', 'profileAvatar'],
] as const;
/** Times; null without a record, whose version is 0. */
const TIMES = [
  ['createdAt', 'profileCreatedAt'],
  ['updatedAt', 'profileUpdatedAt'],
] as const;
const JSON_TYPE = [
  'id String',
  ...TEXTS.map(([name]) => `${name} String`),
  'properties Map(String, String)',
  'groups Array(String)',
  ...TIMES.map(([name]) => `${name} Nullable(DateTime64(3, \\'UTC\\'))`),
].join(', ');

/** The field groups that the contract of bulk exports writes; the profile is written here. */
export function groupsWithoutProfile(groups: readonly ExportGroup[]): ExportGroup[] {
  return groups.filter((group) => group !== 'profile');
}

/** The select list of a profile, over events called `row` that are joined with rows called `profile`. */
export function profileColumns(shape: ExportShape, writtenAs: (text: string) => string): string {
  const times = TIMES.map(([name]) => `if(profile.version = 0, NULL, profile.${name})`);
  if (shape === 'json') {
    const fields = [
      'row.profileId',
      ...TEXTS.map(([name]) => `profile.${name}`),
      'profile.properties',
      'profile.groups',
      ...times,
    ];
    return `${nullOr("row.profileId = ''", `tuple(${fields.join(', ')})`, JSON_TYPE)} AS profile`;
  }
  const list = (name: string) => (shape === 'csv' ? `toJSONString(profile.${name})` : `profile.${name}`);
  return [
    ...TEXTS.map(([name, column]) => `${writtenAs(`profile.${name}`)} AS ${column}`),
    `${list('properties')} AS profileProperties`,
    `${list('groups')} AS profileGroups`,
    ...TIMES.map(([, column], index) => `${times[index]} AS ${column}`),
  ].join(',\n    ');
}
