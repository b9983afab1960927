import {
  decodeEntityQuestion,
  type EntityAnswer,
  EntityQuestions,
  encodeEntityAnswer,
  encodeStoredProfilesAnswer,
  entityLookupSubjectOf,
} from '../../../ingest/entity-lookup.ts';

const TIME_MAX_MS = 1_000;

/** What an owner knows: the ids of profiles, and whether it says that the store has every document. */
export interface OwnedRecords {
  readonly profiles?: readonly string[];
  readonly stored?: 'stored' | 'unavailable';
}

/** Questions to one owner, which answers without a bus. */
export function recordsOf({ profiles = [], stored = 'stored' }: OwnedRecords): EntityQuestions {
  const ask = async (subject: string, bytes: Uint8Array) => {
    if (subject !== entityLookupSubjectOf(0)) return encodeStoredProfilesAnswer({ kind: stored });
    const { kind, id } = decodeEntityQuestion(bytes);
    const isKnown = kind === 'profile' && profiles.includes(id);
    return encodeEntityAnswer(isKnown ? { kind: 'found', record: profileOf(id) } : { kind: 'absent' });
  };
  return new EntityQuestions({ ask }, 1, TIME_MAX_MS);
}

function profileOf(id: string): Extract<EntityAnswer, { kind: 'found' }>['record'] {
  const texts = { firstName: 'Ada', lastName: '', email: '', avatar: '' };
  return { kind: 'profile', id, ...texts, properties: [], groups: [], createdAtMs: 0, updatedAtMs: 0 };
}
