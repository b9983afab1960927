import { LRUCache } from 'lru-cache';
import type { StoredId } from '../../infra/accounts/ids.ts';
import { deleteKeys } from '../../infra/cache/cache-keys.ts';
import type { ProfileId } from '../../ingest/event.ts';
import type { ListedSessionRow } from '../insights/session-list.ts';

/** Sessions with every listed column, of all profiles: some two kilobytes each. */
const SESSIONS_MAX = 5_000;
const AGE_MAX_MS = 600_000;

/** A session in one of its states. */
export interface KeptSession {
  /** Decimal text. */
  readonly version: string;
  readonly row: ListedSessionRow;
}

/**
 * Sessions of viewed profiles, as read from the store: the columns of a session in a state, not which state is current.
 * Every question asks the store for that.
 */
export class KeptSessions {
  readonly #profiles = new LRUCache<string, ReadonlyMap<string, KeptSession>>({
    maxSize: SESSIONS_MAX,
    sizeCalculation: (sessions) => sessions.size + 1,
    ttl: AGE_MAX_MS,
    // Evicts a profile that is no longer viewed.
    ttlAutopurge: true,
  });

  /** By session id; undefined for a profile that is not kept. */
  get(site: StoredId, profileId: ProfileId): ReadonlyMap<string, KeptSession> | undefined {
    return this.#profiles.get(`${site} ${profileId}`);
  }

  keep(site: StoredId, profileId: ProfileId, sessions: readonly KeptSession[]): void {
    this.#profiles.set(`${site} ${profileId}`, new Map(sessions.map((session) => [session.row.id, session])));
  }

  /** Evicts everything of a site. */
  evict(storedId: StoredId): void {
    deleteKeys(this.#profiles, `${storedId} `);
  }
}
