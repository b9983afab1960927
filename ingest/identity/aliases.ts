import type { StoredId } from '../../infra/accounts/ids.ts';
import type { Bus } from '../../infra/bus/bus.ts';
import { BusError } from '../../infra/bus/bus-error.ts';
import type { KeyedBytes, KeyedValue } from '../../infra/bus/keyed-bytes.ts';
import type { Logger } from '../../infra/log.ts';
import {
  ALIASES_BUCKET,
  type Alias,
  aliasKeyOf,
  aliasKeysOf,
  decodeAlias,
  encodeAlias,
} from '../entity-update.ts';
import type { ProfileId } from '../event.ts';

/** Limits on the number and size of aliases. */
export interface AliasLimits {
  /** Limit for the whole service: every collector has all aliases in memory. */
  readonly countMax: number;
  /** Limit for all sites of one team together, so that no team can use up `countMax`. */
  readonly countMaxPerTeam: number;
  readonly countMaxPerSite: number;
  /** Limit for one site: bytes of the keys and of the profile ids. */
  readonly bytesMaxPerSite: number;
  /** The same for all sites of one team together. */
  readonly bytesMaxPerTeam: number;
  /** The same for the whole service. */
  readonly bytesMax: number;
}

export const ALIAS_LIMITS: AliasLimits = {
  countMax: 1_000_000,
  countMaxPerTeam: 250_000,
  countMaxPerSite: 100_000,
  bytesMaxPerSite: 16_777_216,
  bytesMaxPerTeam: 33_554_432,
  bytesMax: 268_435_456,
};

export interface AliasesOptions {
  /** The ids under which a team's sites are stored. */
  readonly sitesOf: (teamId: string) => Iterable<StoredId>;
  readonly limits?: AliasLimits;
}

/**
 * The outcome for an alias. `circle`: the profile is already an alias of this name; `verified`: a sender with a secret made the present
 * alias, and this sender has none; `full`: a limit is reached.
 */
export type AliasResult = 'stored' | 'circle' | 'verified' | 'full';

interface Usage {
  count: number;
  bytes: number;
}

const CHAIN_MAX = 32;
const TRIES_MAX = 20;

/**
 * The aliases of profiles: a mirror of the bucket `aliases`, so that an event gets its profile without I/O. Events already recorded under
 * an alias are not changed.
 */
export class Aliases {
  readonly #bucket: KeyedBytes;
  readonly #log: Logger;
  readonly #sitesOf: AliasesOptions['sitesOf'];
  readonly #limits: AliasLimits;
  /** The target profile of each alias, by the key of its record. */
  readonly #targets = new Map<string, string>();
  /** Usage by site, including aliases that are being stored, by the beginning of their keys. */
  readonly #usage = new Map<string, Usage>();
  #count = 0;
  #bytes = 0;
  /** The last revision that the watch brought. It brings them in order. */
  #seenRevision = 0;
  #stop: () => void = () => {};

  private constructor(bucket: KeyedBytes, log: Logger, { sitesOf, limits = ALIAS_LIMITS }: AliasesOptions) {
    this.#bucket = bucket;
    this.#log = log;
    this.#sitesOf = sitesOf;
    this.#limits = limits;
  }

  /** Resolves once every alias that is stored now has been read. */
  static async open(bus: Bus, log: Logger, options: AliasesOptions): Promise<Aliases> {
    const aliases = new Aliases(await bus.keyed(ALIASES_BUCKET), log, options);
    aliases.#stop = await aliases.#bucket.watch((value) => aliases.#take(value));
    return aliases;
  }

  /** The profile that `profileId` refers to: itself, unless it is an alias. */
  resolve(projectId: StoredId, profileId: ProfileId): ProfileId {
    if (profileId === '' || this.#targets.size === 0) return profileId;
    const target = this.#targets.get(aliasKeyOf({ projectId, alias: profileId }));
    return target === undefined ? profileId : this.#endOf(projectId, [profileId, target]);
  }

  /** The last name of a chain in which each name is an alias of the next. */
  #endOf(projectId: StoredId, chain: string[]): string {
    for (;;) {
      const last = chain[chain.length - 1] ?? '';
      const target = this.#targets.get(aliasKeyOf({ projectId, alias: last }));
      if (target === undefined || chain.length > CHAIN_MAX) return last;
      const start = chain.indexOf(target);
      // Two nodes closed a circle at the same time. All names in it resolve to the one that sorts first, on every node.
      if (start >= 0) return chain.slice(start).sort()[0] ?? last;
      chain.push(target);
    }
  }

  /** Stores that `alias` refers to `profileId` from now on, on a site of this team. Throws a BusError when the bus does not confirm. */
  async put(alias: Alias, teamId: string): Promise<AliasResult> {
    const { projectId, profileId } = alias;
    const key = aliasKeyOf(alias);
    if (this.resolve(projectId, profileId) === alias.alias) return 'circle';
    const known = this.#targets.get(key);
    const count = known === undefined ? 1 : 0;
    const bytes = Math.max(0, sizeOf(key, profileId) - (known === undefined ? 0 : sizeOf(key, known)));
    if ((count > 0 || bytes > 0) && this.#isFull(projectId, teamId, { count, bytes })) return 'full';
    // Counted before the first wait, so that concurrent requests do not exceed a limit.
    this.#use(key, count, bytes);
    try {
      return await this.#store(key, alias);
    } finally {
      this.#use(key, -count, -bytes);
    }
  }

  async #store(key: string, alias: Alias): Promise<AliasResult> {
    const { profileId, verified } = alias;
    for (let attempt = 1; ; attempt += 1) {
      const stored = await this.#bucket.get(key);
      const before = stored?.bytes === undefined ? undefined : decodeAlias(stored.bytes);
      const isSame = before?.profileId === profileId;
      if (before?.verified && !verified && !isSame) return 'verified';
      // Another request was first with the same alias: there is nothing left to write.
      if (before !== undefined && isSame && (before.verified || !verified)) {
        this.#setWritten(key, profileId, stored?.revision ?? 0);
        return 'stored';
      }
      try {
        const revision = await this.#bucket.put(key, encodeAlias(alias), stored?.revision ?? 0);
        this.#setWritten(key, profileId, revision);
        return 'stored';
      } catch (error) {
        const isConflict = error instanceof BusError && error.reason === 'conflict';
        if (!isConflict || attempt === TRIES_MAX) throw error;
      }
    }
  }

  stop(): void {
    this.#stop();
  }

  /** Takes what this node read or wrote, unless the watch has brought it, or something later, meanwhile. */
  #setWritten(key: string, profileId: ProfileId, revision: number): void {
    if (revision > this.#seenRevision) this.#set(key, profileId);
  }

  #take({ key, bytes, revision }: KeyedValue): void {
    this.#seenRevision = Math.max(this.#seenRevision, revision);
    const alias = bytes === undefined ? undefined : decodeAlias(bytes);
    if (alias !== undefined) this.#set(key, alias.profileId);
    else if (bytes === undefined) this.#delete(key);
    else this.#log.error({ key, revision }, 'unreadable alias record ignored');
  }

  #set(key: string, profileId: ProfileId): void {
    this.#delete(key);
    this.#targets.set(key, profileId);
    this.#use(key, 1, sizeOf(key, profileId));
  }

  #delete(key: string): void {
    const known = this.#targets.get(key);
    if (known === undefined) return;
    this.#targets.delete(key);
    this.#use(key, -1, -sizeOf(key, known));
  }

  #use(key: string, count: number, bytes: number): void {
    const site = siteIn(key);
    const usage = this.#usage.get(site) ?? { count: 0, bytes: 0 };
    usage.count += count;
    usage.bytes += bytes;
    this.#count += count;
    this.#bytes += bytes;
    if (usage.count === 0 && usage.bytes === 0) this.#usage.delete(site);
    else this.#usage.set(site, usage);
  }

  /** True if a limit leaves no room for this much more. */
  #isFull(projectId: StoredId, teamId: string, more: Usage): boolean {
    const { countMax, countMaxPerTeam, countMaxPerSite, bytesMax, bytesMaxPerSite, bytesMaxPerTeam } =
      this.#limits;
    const isBeyond = (usage: Usage, most: Usage) =>
      usage.count + more.count > most.count || usage.bytes + more.bytes > most.bytes;
    const site = this.#usage.get(aliasKeysOf(projectId)) ?? { count: 0, bytes: 0 };
    if (isBeyond(site, { count: countMaxPerSite, bytes: bytesMaxPerSite })) return true;
    const all = { count: this.#count, bytes: this.#bytes };
    if (isBeyond(all, { count: countMax, bytes: bytesMax })) return true;
    // A team has no more than there are.
    const ofTeam = { count: countMaxPerTeam, bytes: bytesMaxPerTeam };
    return isBeyond(all, ofTeam) && isBeyond(this.#usageOf(teamId), ofTeam);
  }

  #usageOf(teamId: string): Usage {
    const sum = { count: 0, bytes: 0 };
    for (const storedId of this.#sitesOf(teamId)) {
      const site = this.#usage.get(aliasKeysOf(storedId));
      sum.count += site?.count ?? 0;
      sum.bytes += site?.bytes ?? 0;
    }
    return sum;
  }
}

/** The bytes that an alias uses of its site's limit. */
function sizeOf(key: string, profileId: ProfileId): number {
  return key.length + Buffer.byteLength(profileId);
}

function siteIn(key: string): string {
  return key.slice(0, key.indexOf('.'));
}
