import type { ProfileId } from '../../ingest/event.ts';
import { RejectError } from '../reject.ts';
import type { QuestionScope } from '../snapshot/question.ts';
import type { Seam } from '../snapshot/seam.ts';
import type { PeopleSources } from './people-sources.ts';

/**
 * Resolves if an update describes the profile or an event names it.
 * @throws {RejectError} 404 when neither does; 503 when the owner of the profile cannot be reached and no event names it
 */
export async function rejectUnknownProfile(
  { history, records }: Pick<PeopleSources, 'history' | 'records'>,
  { site }: Pick<QuestionScope, 'site'>,
  seam: Seam,
  profileId: ProfileId,
): Promise<void> {
  const parameters = { site: site.storedId, profileId };
  const [record, named] = await Promise.all([
    records.ask({ kind: 'profile', projectId: site.storedId, id: profileId }),
    history.ask({ name: 'profile-named', parameters }, seam),
  ]);
  if (record.kind === 'found' || named.length > 0) return;
  if (record.kind === 'unavailable') throw new RejectError('lane-away', 'this record cannot be reached now');
  throw unknownRecord('profile', profileId);
}

/** The answer about a profile, group or session that does not exist. */
export function unknownRecord(what: string, id: string): RejectError {
  return new RejectError('unknown-record', `no such ${what}: ${JSON.stringify(id)}`);
}
