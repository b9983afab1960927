import { z } from 'zod';
import type { Bus } from '../bus/bus.ts';
import { encodeJson, followBucket, Mirror } from '../bus/mirror.ts';
import type { Logger } from '../log.ts';
import { type SiteId, type StoredId, storedIdSchema } from './ids.ts';

/**
 * CONTRACT between the processes that manage teams, sites and clients and those that look them up: JSON records in one
 * bucket of named bytes.
 *
 *     team.<id>   site.<id>   client.<uuid>   salt.<YYYY-MM-DD> (salt.ts)
 *     reference.<uuid>   dashboard.<uuid>   report.<uuid>   erasure.<uuid> (erasure.ts)   gsc.<storedId>
 *     integration.<uuid> (integration.ts)   signin.<id>   link.<hash> (sign-in-links.ts)   user.<uuid>   share.<uuid>
 *
 * Every process mirrors the records by watching the bucket, so a look-up costs no I/O and a change is known everywhere
 * within moments.
 */
export const CONTROL_BUCKET = 'control';

export const CLIENT_TYPES = ['read', 'write', 'root'] as const;
export type ClientType = (typeof CLIENT_TYPES)[number];

/** The areas of the service that a client may be limited to. */
export const SCOPES = ['track', 'insights', 'export', 'manage'] as const;
export type Scope = (typeof SCOPES)[number];
/** Scopes that each type of client may have at most. */
export const SCOPES_OF_TYPE: Readonly<Record<ClientType, readonly Scope[]>> = {
  write: ['track'],
  read: ['track', 'insights', 'export'],
  root: SCOPES,
};

const instant = z.iso.datetime();
const texts = z.array(z.string());

/** Data that the browser script collects by itself; `GET /config/tracking` returns it. */
export const trackingSchema = z.object({
  screenViews: z.boolean().default(true),
  outgoingLinks: z.boolean().default(false),
  attributes: z.boolean().default(false),
  hashChanges: z.boolean().default(false),
  sessionReplay: z.boolean().default(false),
  replaySampleRate: z.number().min(0).max(1).default(1),
  replayNeedsConsent: z.boolean().default(false),
  paymentProviders: texts.default([]),
});

/** Events that a site does not want recorded. */
const filtersSchema = z.object({
  addresses: texts.default([]),
  profileIds: texts.default([]),
  names: texts.default([]),
  paths: texts.default([]),
});

export const teamSchema = z.object({ id: z.string().min(1), name: z.string(), createdAt: instant });

/** The kind of site. Descriptive only: nothing depends on it. */
export const SITE_TYPES = ['website', 'app', 'backend'] as const;

/**
 * The deletion of a site. `waiting`: hidden and rejected everywhere, its data still stored; `purging`: its data is
 * being removed; `purged`: nothing is left of it but this record, and its id is free.
 */
const deletionSchema = z.object({
  status: z.enum(['waiting', 'purging', 'purged']),
  requestedAt: instant,
  /** Earliest start of the purge. Until it begins the site can be restored, unless the deletion is final. */
  purgeAt: instant,
  isFinal: z.boolean().optional(),
  startedAt: instant.nullable().default(null),
  finishedAt: instant.nullable().default(null),
  /** The present step of the purge, for people to read; empty between steps. */
  step: z.string().default(''),
  /** Rows removed so far, by table. */
  rowsRemoved: z.record(z.string(), z.number()).default({}),
});
export type SiteDeletion = Readonly<z.output<typeof deletionSchema>>;

/** A site, on the wire a project. Stored records may lack fields with a default. */
export const siteSchema = z
  .object({
    id: z.string().min(1),
    /** Empty: equal to `id`; see `Site`. */
    storedId: z.string().default(''),
    teamId: z.string().min(1),
    name: z.string(),
    domain: z.string().nullable().default(null),
    /** Origins whose pages may send events without a secret. */
    cors: texts.default([]),
    timezone: z.string().default('UTC'),
    currency: z.string().default('USD'),
    types: z.array(z.enum(SITE_TYPES)).default([]),
    createdAt: instant,
    updatedAt: instant,
    tracking: trackingSchema.default(() => trackingSchema.parse({})),
    allowUnsafeRevenue: z.boolean().default(false),
    /** True if a browser, which has no secret, may make aliases. */
    allowUnsafeAliases: z.boolean().default(false),
    /** True if a browser may change every profile and group, not only its own device's. */
    allowUnsafeIdentify: z.boolean().default(false),
    /** True if events with a known spam domain as referrer are not recorded. */
    filterReferrerSpam: z.boolean().default(true),
    publicWidget: z.boolean().default(false),
    /** True if its events are copied to a stream that other programs can follow; see `feedSubjectOf`. */
    feed: z.boolean().default(false),
    /** Null: history is stored for ever. */
    retentionDays: z.number().int().positive().nullable().default(null),
    /** Events that the site may send in a second, on average over ten; null: no limit. */
    eventsPerSecondMax: z.number().int().positive().nullable().default(null),
    filters: filtersSchema.default(() => filtersSchema.parse({})),
    deletion: deletionSchema.nullable().default(null),
  })
  .transform((site) => ({ ...site, storedId: (site.storedId || site.id) as StoredId }));

export const clientSchema = z
  .object({
    id: z.uuid(),
    name: z.string(),
    type: z.enum(CLIENT_TYPES),
    /** Null for a root client: it acts for every site of its team. */
    projectId: z.string().nullable().default(null),
    /** The `storedId` of its site. Missing for a root client, and for the clients of the first start. */
    storedId: storedIdSchema.optional(),
    teamId: z.string().min(1),
    createdAt: instant,
    updatedAt: instant,
    /** Made by `hashSecret` of client-auth.ts; never the secret. */
    secretHash: z.string(),
    /** From this time on the client is rejected. Missing: never. */
    expiresAt: instant.optional(),
    /** Members of `SCOPES`; a later version may know more. Missing: all that its type may do. */
    scopes: texts.optional(),
    /** Addresses and CIDR ranges that it may be used from. Missing: all. */
    addresses: texts.optional(),
  })
  // A root client whose record names a site belongs to the team all the same.
  .transform((client) => (client.type === 'root' ? { ...client, projectId: null } : client));

export type Team = Readonly<z.output<typeof teamSchema>>;
/**
 * `id` is the public name. `storedId` is the key of the site's events, sessions, records and rollups, on the bus, in
 * memory and in the store. A site that takes over the id of a deleted one has another `storedId`, so nothing that is
 * left of the deleted site can appear in it.
 */
export type Site = Readonly<z.output<typeof siteSchema>>;
export type Client = Readonly<z.output<typeof clientSchema>>;

/** The key of a team's record in the bucket. */
export function teamKeyOf(id: string): string {
  return `team.${keySafe(id)}`;
}

/** The key of a site's record in the bucket. */
export function siteKeyOf(id: SiteId): string {
  return `site.${keySafe(id)}`;
}

/** The key of a client's record in the bucket. */
export function clientKeyOf(id: string): string {
  return `client.${keySafe(id)}`;
}

/** The subject of the feed of a site's events, by lane; `>` subscribes to all its lanes. See processor/feed/README.md. */
export function feedSubjectOf(storedId: StoredId, lane: number | '>'): string {
  return `feed.${/^[\w~-]+$/.test(storedId) ? storedId : keySafe(storedId)}.${lane}`;
}

/** The bytes of a record. */
export function encodeRecord(record: Team | Site | Client): Uint8Array {
  return encodeJson(record);
}

/**
 * A mirror of all teams, sites and clients, kept up to date until `stop`. All users of one connection share one copy: a copy for each job
 * and room would exceed the heap of a process with the settings of twenty full teams.
 */
export class Accounts {
  readonly teams: Mirror<Team>;
  /** Includes deleted sites; `site` does not. */
  readonly sites: Mirror<Site>;
  readonly clients: Mirror<Client>;
  #stop: () => void;

  private constructor({ teams, sites, clients }: AccountsCopy, stop: () => void) {
    this.teams = teams;
    this.sites = sites;
    this.clients = clients;
    this.#stop = stop;
  }

  /** Resolves once every record that is stored now has been read. */
  static async open(bus: Bus, log: Logger): Promise<Accounts> {
    const copy = copies.get(bus) ?? new AccountsCopy(bus, log);
    copies.set(bus, copy);
    copy.users += 1;
    const leave = () => {
      copy.users -= 1;
      if (copy.users > 0) return;
      if (copies.get(bus) === copy) copies.delete(bus);
      copy.stop();
    };
    try {
      await copy.filled;
      return new Accounts(copy, leave);
    } catch (error) {
      // The next caller reads again, although others may still wait for this copy.
      if (copies.get(bus) === copy) copies.delete(bus);
      leave();
      throw error;
    }
  }

  team(id: string): Team | undefined {
    return this.teams.get(teamKeyOf(id));
  }

  /** A site that may be used; undefined as soon as it has been deleted. */
  site(id: SiteId): Site | undefined {
    const site = this.sites.get(siteKeyOf(id));
    return site?.deletion === null ? site : undefined;
  }

  /** A client that may be used; undefined as soon as its site was purged. */
  client(id: string): Client | undefined {
    const client = this.clients.get(`client.${id}`);
    return client === undefined || this.isLeftOver(client) ? undefined : client;
  }

  /** True if the client's site was purged, also if another site has taken over its id. */
  isLeftOver({ projectId, storedId }: Client): boolean {
    const site = projectId === null ? undefined : this.sites.get(siteKeyOf(projectId));
    if (site === undefined) return false;
    return site.deletion?.status === 'purged' || (storedId !== undefined && storedId !== site.storedId);
  }

  stop(): void {
    this.#stop();
    this.#stop = () => {};
  }
}

/** By connection, while something has it open. */
const copies = new WeakMap<Bus, AccountsCopy>();

/** The records that a connection has read. */
class AccountsCopy {
  readonly teams = new Mirror<Team>('team.', teamSchema);
  readonly sites = new Mirror<Site>('site.', siteSchema);
  readonly clients = new Mirror<Client>('client.', clientSchema);
  /** Resolves once every record that was stored at the beginning has been read. */
  readonly filled: Promise<void>;
  /** Number of users that have it open. */
  users = 0;
  stop: () => void = () => {};

  constructor(bus: Bus, log: Logger) {
    this.filled = this.#fill(bus, log);
  }

  async #fill(bus: Bus, log: Logger): Promise<void> {
    const bucket = await bus.keyed(CONTROL_BUCKET);
    const mirrors = [this.teams, this.sites, this.clients];
    // One by one, because a collector may read no other records of the bucket.
    const stops = await Promise.all(mirrors.map((mirror) => followBucket(bucket, [mirror], log)));
    this.stop = () => {
      for (const stop of stops) stop();
    };
  }
}

/** Ids are slugs and stay legible. Any other id becomes base64url after a `=`, which no slug contains. */
function keySafe(id: string): string {
  return /^[\w-]+$/.test(id) ? id : `=${Buffer.from(id).toString('base64url')}`;
}
