import { ServiceLanes } from '../../../infra/process/service-lanes.ts';
import {
  decodeEntityQuestion,
  type EntityAnswer,
  EntityQuestions,
  encodeEntityAnswer,
  encodeStoredProfilesAnswer,
  entityLookupSubjectOf,
} from '../../../ingest/entity-lookup.ts';

const TIME_MAX_MS = 1_000;

/** The owner's records: ids of profiles and groups, and its answer to whether the store has every document. */
export interface OwnedRecords {
  readonly profiles?: readonly string[];
  readonly groups?: readonly string[];
  readonly stored?: 'stored' | 'unavailable';
}

/** Questions to one owner, which answers without a bus. */
export function recordsOf({ profiles = [], groups = [], stored = 'stored' }: OwnedRecords): EntityQuestions {
  const ask = async (subject: string, bytes: Uint8Array) => {
    if (subject !== entityLookupSubjectOf(0)) return encodeStoredProfilesAnswer({ kind: stored });
    const { kind, id } = decodeEntityQuestion(bytes);
    const known = kind === 'profile' ? profiles : groups;
    if (kind === 'order' || !known.includes(id)) return encodeEntityAnswer({ kind: 'absent' });
    return encodeEntityAnswer({ kind: 'found', record: kind === 'profile' ? profileOf(id) : groupOf(id) });
  };
  return new EntityQuestions({ ask }, ServiceLanes.fixed(1), TIME_MAX_MS);
}

type FoundRecord = Extract<EntityAnswer, { kind: 'found' }>['record'];

const TIMES = { createdAtMs: 0, updatedAtMs: 0 };

function profileOf(id: string): FoundRecord {
  const texts = { firstName: 'Ada', lastName: '', email: '', avatar: '' };
  return { kind: 'profile', id, ...texts, properties: [], groups: [], ...TIMES };
}

function groupOf(id: string): FoundRecord {
  return { kind: 'group', id, type: '', name: id, properties: [], ...TIMES };
}
