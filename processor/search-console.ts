import { z } from 'zod';
import { type StoredId, storedIdSchema } from '../infra/accounts/ids.ts';
import { DAY_MS } from '../infra/durations.ts';
import { unseal } from '../infra/sealed.ts';
import { RowBinaryWriter } from '../infra/store/row-binary.ts';

/**
 * CONTRACT between the query room, where a customer connects a site with a property of the Search Console, and the processor, which fetches
 * its rows.
 *
 * The desired state is a `Connection`: a record of the control bucket, `gsc.<storedId>`, written by the query room and only read by the
 * processor. The actual state is a `Sync`: a record of the bucket `search-console-syncs` under the same key, written only by the processor,
 * by compare-and-set.
 */
export const CONNECTION_PREFIX = 'gsc.';
export const SYNCS_BUCKET = 'search-console-syncs';

export const AUTH_TYPES = ['service_account', 'oauth'] as const;

const instant = z.iso.datetime();
const day = z.iso.date();
const count = z.number().int().min(0);

/** A connection as it is stored. */
export const connectionSchema = z.object({
  projectId: z.string().min(1),
  /** See `Site` in infra/accounts/accounts.ts. */
  storedId: storedIdSchema.min(1),
  siteUrl: z.string(),
  authType: z.enum(AUTH_TYPES),
  /** The e-mail address of the service account or the OAuth client id, so that people can find it. Not a secret. */
  account: z.string(),
  /** The secrets as JSON, sealed for the record's key; see infra/sealed.ts. */
  sealed: z.string(),
  updatedAt: instant,
});
export type Connection = Readonly<z.output<typeof connectionSchema>>;

/**
 * The key of a site's connection in the control bucket, and of its sync. A new site that takes over the id of a purged
 * one has another key.
 */
export function connectionKeyOf(storedId: StoredId): string {
  // Bucket keys cannot contain the `~` that stored ids may have.
  const safe = /^[\w-]+$/.test(storedId) ? storedId : `=${Buffer.from(storedId).toString('base64url')}`;
  return CONNECTION_PREFIX + safe;
}

const oauthSecretsSchema = z.object({ clientSecret: z.string(), refreshToken: z.string() });
const accountSecretsSchema = z.object({ privateKey: z.string() });
export type OAuthSecrets = Readonly<z.output<typeof oauthSecretsSchema>>;
export type AccountSecrets = Readonly<z.output<typeof accountSecretsSchema>>;

/** Credentials of a connection, with its secrets. */
export type SearchCredentials =
  | ({ readonly type: 'oauth'; readonly clientId: string } & OAuthSecrets)
  | ({ readonly type: 'service_account'; readonly clientEmail: string } & AccountSecrets);

/** The credentials of a connection; undefined when they were sealed with another `SECRETS_KEY`. */
export function credentialsOf(connection: Connection, secretsKey: string): SearchCredentials | undefined {
  const { storedId, authType, account, sealed } = connection;
  const opened = unseal(secretsKey, connectionKeyOf(storedId), sealed);
  if (opened === undefined) return undefined;
  const secrets: unknown = JSON.parse(opened);
  return authType === 'oauth'
    ? { type: authType, clientId: account, ...oauthSecretsSchema.parse(secrets) }
    : { type: authType, clientEmail: account, ...accountSecretsSchema.parse(secrets) };
}

/**
 * Reasons why nothing can be fetched now.
 *
 *     token-expired  Google does not accept the credentials any more: connect the site again
 *     no-access      Google accepts them, and they may not read the property
 *     quota          Google asks to wait
 *     unreadable     the secrets were sealed with another `SECRETS_KEY`
 *     google-away    Google does not answer, or with an error of its own
 *     store-away     the event store does not answer
 *     failed         everything else
 */
export const SYNC_FAILURES = [
  'token-expired',
  'no-access',
  'quota',
  'unreadable',
  'google-away',
  'store-away',
  'failed',
] as const;
export type SyncFailure = (typeof SYNC_FAILURES)[number];

/**
 * Progress of a connection's rows. Days are Search Console days.
 *
 *     backfill.from ◀── done, newest first ── backfill.to │ settled ── settledThrough │ preliminary ── lastDay
 */
export const syncSchema = z.object({
  version: z.literal(1),
  /** The property that was fetched; another one starts the sync from the beginning. */
  siteUrl: z.string(),
  /** `updatedAt` of the connection that was tried last, so that a change is tried immediately. */
  triedAs: instant,
  /** Days from before the connection, both included; the last `daysDone` of them are stored. */
  backfill: z.object({ from: day, to: day, daysDone: count, daysTotal: count }),
  /** Days after the backfill and up to this one are stored and do not change any more. */
  settledThrough: day,
  /** The last day that was fetched. Days after `settledThrough` are preliminary, and are fetched again. */
  lastDay: day.nullable(),
  lastSyncedAt: instant.nullable(),
  /** Rows fetched so far; rows of repeated days count each time. */
  rows: count,
  failure: z
    .object({
      reason: z.enum(SYNC_FAILURES),
      /** Readable text; contains no secret. */
      message: z.string(),
      since: instant,
      attempts: count,
      nextTryAt: instant,
    })
    .nullable(),
});
export type Sync = Readonly<z.output<typeof syncSchema>>;

const PACIFIC = new Intl.DateTimeFormat('sv-SE', {
  timeZone: 'America/Los_Angeles',
  dateStyle: 'short',
  timeStyle: 'medium',
});

/** Wall-clock time in Pacific time, in milliseconds since 1970 as if it were UTC. */
export function pacificTime(atMs: number): number {
  return Date.parse(`${PACIFIC.format(atMs).replace(' ', 'T')}Z`);
}

/** The day of the Search Console at a time. */
export function searchDayAt(atMs: number): string {
  return PACIFIC.format(atMs).slice(0, 10);
}

/** The day that is `days` after another one, or before it. */
export function addDays(date: string, days: number): string {
  return new Date(Date.parse(date) + days * DAY_MS).toISOString().slice(0, 10);
}

/** Days from `from` to `to`. */
export function daysBetween(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / DAY_MS;
}

/** The figures of a day, query and page; also of a country and device type if the source distinguishes them. */
export interface SearchConsoleRow {
  readonly date: string;
  readonly query: string;
  readonly page: string;
  readonly country?: string | undefined;
  readonly device?: string | undefined;
  readonly clicks: number;
  readonly impressions: number;
  readonly position: number;
}

/** More than the largest import, with the id of the site in each row. */
const ROWS_BYTES_MAX = 33_554_432;

/** Rows of a site, by its stored id, for the table `SEARCH_CONSOLE_TABLE`. */
export function searchConsoleBytes(
  site: string,
  rows: readonly SearchConsoleRow[],
  importedAtMs: number,
): Uint8Array {
  const writer = new RowBinaryWriter(ROWS_BYTES_MAX);
  for (const { date, query, page, country = '', device = '', clicks, impressions, position } of rows) {
    writer.string(site);
    writer.u16(Date.parse(date) / DAY_MS);
    writer.string(query);
    writer.string(page);
    writer.string(country);
    writer.string(device);
    writer.u32(clicks);
    writer.u32(impressions);
    writer.f64(position);
    writer.dateTime64Ms(importedAtMs);
  }
  return writer.bytes();
}
