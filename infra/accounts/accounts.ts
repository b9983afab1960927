import { z } from 'zod';
import type { Bus } from '../bus/bus.ts';
import { encodeJson, followBucket, Mirror } from '../bus/mirror.ts';
import type { Logger } from '../log.ts';

/**
 * CONTRACT with everybody who needs to know a team, a site or a client: JSON records in one bucket of named bytes.
 *
 *     team.<id>   site.<id>   client.<uuid>   salt.<YYYY-MM-DD> (salt.ts)
 *     reference.<uuid>   dashboard.<uuid>   report.<uuid>   erasure.<uuid> (erasure.ts)   gsc.<storedId>
 *     integration.<uuid> (integration.ts)
 *
 * Every process mirrors the records by watching the bucket, so a look-up costs no I/O and a change is known
 * everywhere within moments.
 */
export const CONTROL_BUCKET = 'control';

export const CLIENT_TYPES = ['read', 'write', 'root'] as const;
export type ClientType = (typeof CLIENT_TYPES)[number];

const instant = z.iso.datetime();
const texts = z.array(z.string());

/** What the browser script may collect by itself: the answer of `/config/tracking`. */
const trackingSchema = z.object({
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

/** What a site is; says nothing but what the owner of the site wants to know. */
export const SITE_TYPES = ['website', 'app', 'backend'] as const;

/**
 * The end of a site. `waiting`: hidden and refused everywhere, its data still there; `purging`: its data is being
 * removed; `purged`: nothing of it is left but this record, and its id is free.
 */
const deletionSchema = z.object({
  status: z.enum(['waiting', 'purging', 'purged']),
  requestedAt: instant,
  /** When the purge may begin. */
  purgeAt: instant,
  startedAt: instant.nullable().default(null),
  finishedAt: instant.nullable().default(null),
  /** What is being done, in words; empty when nothing is. */
  step: z.string().default(''),
  /** Rows removed so far, by table. */
  rowsRemoved: z.record(z.string(), z.number()).default({}),
});
export type SiteDeletion = Readonly<z.output<typeof deletionSchema>>;

/** A site, on the wire a project. Fields with a default may be missing in what is stored. */
export const siteSchema = z
  .object({
    id: z.string().min(1),
    /** Empty: the same as `id`; see `Site`. */
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
    publicWidget: z.boolean().default(false),
    /** Whether its events go to a stream for whoever follows them; see `feedSubjectOf`. */
    feed: z.boolean().default(false),
    /** Null: history is kept for ever. */
    retentionDays: z.number().int().positive().nullable().default(null),
    filters: filtersSchema.default(() => filtersSchema.parse({})),
    deletion: deletionSchema.nullable().default(null),
  })
  .transform((site) => ({ ...site, storedId: site.storedId || site.id }));

export const clientSchema = z.object({
  id: z.uuid(),
  name: z.string(),
  type: z.enum(CLIENT_TYPES),
  /** Null for a root client: it acts for every site of its team. */
  projectId: z.string().nullable().default(null),
  teamId: z.string().min(1),
  createdAt: instant,
  updatedAt: instant,
  /** What `hashSecret` of client-auth.ts made; never the secret. */
  secretHash: z.string(),
});

export type Team = Readonly<z.output<typeof teamSchema>>;
/**
 * `id` is what people call it. `storedId` is what its events, sessions, records and sums are kept under, on the bus, in
 * memory and in the store: the site that takes over the id of a deleted one gets another, so nothing that is left of the
 * old one can ever appear in the new.
 */
export type Site = Readonly<z.output<typeof siteSchema>>;
export type Client = Readonly<z.output<typeof clientSchema>>;

/** Where a team's record lies in the bucket. */
export function teamKeyOf(id: string): string {
  return `team.${keySafe(id)}`;
}

/** Where a site's record lies in the bucket. */
export function siteKeyOf(id: string): string {
  return `site.${keySafe(id)}`;
}

/** Where a client's record lies in the bucket. */
export function clientKeyOf(id: string): string {
  return `client.${keySafe(id)}`;
}

/**
 * Where on the bus the events of a site go that has a feed, by partition; with `>` what whoever follows all of them listens
 * to. See processor/feed/README.md.
 */
export function feedSubjectOf(storedId: string, partition: number | '>'): string {
  return `feed.${/^[\w~-]+$/.test(storedId) ? storedId : keySafe(storedId)}.${partition}`;
}

/** The bytes of a record. */
export function encodeRecord(record: Team | Site | Client): Uint8Array {
  return encodeJson(record);
}

/** A mirror of all teams, sites and clients, kept up to date until `stop`. */
export class Accounts {
  readonly teams = new Mirror<Team>('team.', teamSchema);
  /** With those that were deleted; `site` is without. */
  readonly sites = new Mirror<Site>('site.', siteSchema);
  readonly clients = new Mirror<Client>('client.', clientSchema);
  #stop: () => void = () => {};

  private constructor() {}

  /** Resolves once everything that is stored now is known. */
  static async open(bus: Bus, log: Logger): Promise<Accounts> {
    const accounts = new Accounts();
    const bucket = await bus.keyed(CONTROL_BUCKET);
    const { teams, sites, clients } = accounts;
    accounts.#stop = await followBucket(bucket, [teams, sites, clients], log);
    return accounts;
  }

  team(id: string): Team | undefined {
    return this.teams.get(teamKeyOf(id));
  }

  /** A site that may be used; undefined from the moment in which it was deleted. */
  site(id: string): Site | undefined {
    const site = this.sites.get(siteKeyOf(id));
    return site?.deletion === null ? site : undefined;
  }

  client(id: string): Client | undefined {
    return this.clients.get(`client.${id}`);
  }

  stop(): void {
    this.#stop();
  }
}

/** Ids are slugs and stay legible; anything else becomes base64url behind a `=`, which no slug holds. */
function keySafe(id: string): string {
  return /^[\w-]+$/.test(id) ? id : `=${Buffer.from(id).toString('base64url')}`;
}
