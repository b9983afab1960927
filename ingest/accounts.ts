import { z } from 'zod';
import type { Bus } from '../infra/bus.ts';
import type { KeyedValue } from '../infra/keyed-bytes.ts';
import type { Logger } from '../infra/log.ts';

/**
 * CONTRACT with everybody who needs to know a team, a site or a client: JSON records in one bucket of named bytes.
 *
 *     team.<id>   site.<id>   client.<uuid>   salt.<YYYY-MM-DD> (salt.ts)
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

/** A site, on the wire a project. Fields with a default may be missing in what is stored. */
export const siteSchema = z.object({
  id: z.string().min(1),
  teamId: z.string().min(1),
  name: z.string(),
  domain: z.string().nullable().default(null),
  /** Origins whose pages may send events without a secret. */
  cors: texts.default([]),
  timezone: z.string().default('UTC'),
  currency: z.string().default('USD'),
  createdAt: instant,
  updatedAt: instant,
  tracking: trackingSchema.default(() => trackingSchema.parse({})),
  allowUnsafeRevenue: z.boolean().default(false),
  publicWidget: z.boolean().default(false),
  /** Null: history is kept for ever. */
  retentionDays: z.number().int().positive().nullable().default(null),
  filters: filtersSchema.default(() => filtersSchema.parse({})),
});

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

/** The bytes of a record. */
export function encodeRecord(record: Team | Site | Client): Uint8Array {
  return Buffer.from(JSON.stringify(record));
}

/** A mirror of all teams, sites and clients, kept up to date until `stop`. */
export class Accounts {
  readonly #log: Logger;
  readonly #teams = new Map<string, Team>();
  readonly #sites = new Map<string, Site>();
  readonly #clients = new Map<string, Client>();
  #stop: () => void = () => {};

  private constructor(log: Logger) {
    this.#log = log;
  }

  /** Resolves once everything that is stored now is known. */
  static async open(bus: Bus, log: Logger): Promise<Accounts> {
    const accounts = new Accounts(log);
    const bucket = await bus.keyed(CONTROL_BUCKET);
    accounts.#stop = await bucket.watch((value) => accounts.#take(value));
    return accounts;
  }

  team(id: string): Team | undefined {
    return this.#teams.get(teamKeyOf(id));
  }

  site(id: string): Site | undefined {
    return this.#sites.get(siteKeyOf(id));
  }

  client(id: string): Client | undefined {
    return this.#clients.get(`client.${id}`);
  }

  /** In the order of their ids. */
  sitesOfTeam(teamId: string): Site[] {
    const sites = [...this.#sites.values()].filter((site) => site.teamId === teamId);
    return sites.sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** In the order of their ids. */
  clientsOfTeam(teamId: string): Client[] {
    const clients = [...this.#clients.values()].filter((client) => client.teamId === teamId);
    return clients.sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  stop(): void {
    this.#stop();
  }

  #take(value: KeyedValue): void {
    if (value.key.startsWith('site.')) this.#keep(this.#sites, siteSchema, value);
    else if (value.key.startsWith('client.')) this.#keep(this.#clients, clientSchema, value);
    else if (value.key.startsWith('team.')) this.#keep(this.#teams, teamSchema, value);
  }

  #keep<Kept>(
    records: Map<string, Kept>,
    schema: z.ZodType<Kept>,
    { key, bytes, revision }: KeyedValue,
  ): void {
    if (bytes === undefined) {
      records.delete(key);
      return;
    }
    const parsed = schema.safeParse(jsonOf(bytes));
    if (parsed.success) {
      records.set(key, parsed.data);
      return;
    }
    // The last good record stays: a damaged one must not open a door, nor shut everybody out without a word.
    const problem = parsed.error.issues[0]?.message;
    this.#log.error({ key, revision, problem }, 'a stored account record cannot be read; it is ignored');
  }
}

function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    return undefined; // The schema refuses it with a message.
  }
}

/** Ids are slugs and stay legible; anything else becomes base64url behind a `=`, which no slug holds. */
function keySafe(id: string): string {
  return /^[\w-]+$/.test(id) ? id : `=${Buffer.from(id).toString('base64url')}`;
}
