import { ServiceLanes } from '../../infra/process/service-lanes.ts';
import type { Store } from '../../infra/store/store.ts';
import { EntityQuestions, encodeStoredProfilesAnswer } from '../../ingest/entity-lookup.ts';

const TIME_MAX_MS = 1_000;

/** A version of a profile in the store. Fields that are left out are empty. */
export interface StoredProfile {
  readonly id: string;
  readonly firstName?: string;
  readonly lastName?: string;
  readonly email?: string;
  readonly avatar?: string;
  readonly properties?: Readonly<Record<string, string>>;
  readonly groups?: readonly string[];
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly version: number;
}

/** Questions to one owner, which confirms that the store has every profile, or answers `unavailable`. */
export function ownerOfProfiles(kind: 'stored' | 'unavailable' = 'stored'): EntityQuestions {
  return new EntityQuestions(
    { ask: async () => encodeStoredProfilesAnswer({ kind }) },
    ServiceLanes.fixed(1),
    TIME_MAX_MS,
  );
}

/** Inserts a version of a profile, as the processor's flush does. */
export async function insertProfile(store: Store, site: string, profile: StoredProfile): Promise<void> {
  const { properties = {}, groups = [], ...rest } = profile;
  const texts = { firstName: '', lastName: '', email: '', avatar: '', ...rest };
  await store.command(
    `INSERT INTO profiles (projectId, id, firstName, lastName, email, avatar, properties, groups, createdAt, updatedAt, version)
     SELECT {site:String}, {id:String}, {firstName:String}, {lastName:String}, {email:String}, {avatar:String},
       mapFromArrays({keys:Array(String)}, {values:Array(String)}), {groups:Array(String)},
       fromUnixTimestamp64Milli({createdAtMs:Int64}), fromUnixTimestamp64Milli({updatedAtMs:Int64}), {version:UInt64}`,
    { ...texts, site, groups, keys: Object.keys(properties), values: Object.values(properties) },
  );
}

/** Notes that an erasure of this profile is under way, as the purge does. */
export async function noteErasure(store: Store, site: string, profileId: string): Promise<void> {
  await store.command(
    `INSERT INTO erasing (erasure, projectId, profileId, partition, sessionId)
     SELECT 'erasure', {site:String}, {profileId:String}, 0, toFixedString('', 16)`,
    { site, profileId },
  );
}
