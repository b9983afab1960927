import { z } from 'zod';
import { DAY_MS } from '../../../infra/durations.ts';
import { boundedList } from '../../../infra/http/bounded-list.ts';
import { AUTH_TYPES, SYNC_FAILURES } from '../../../processor/search-console.ts';
import { describedLike, instant } from '../../definitions/record-fields.ts';

/** CONTRACT of the manage API: every body and response of Search Console data. */

export const ROWS_MAX = 10_000;
export const ROWS_BODY_MAX_BYTES = 8_388_608;
/** The largest connection has a private key of which every character is escaped. */
export const CONNECTION_MAX_BYTES = 131_072;

const ADDRESS_MAX = 2_048;
const ACCOUNT_MAX = 320;
const SECRET_MAX = 4_096;
const KEY_MAX = 16_384;
const QUERY_MAX = 2_048;
const COUNT_MAX = 4_294_967_295;
const POSITION_MAX = 10_000;
const FIRST_DAY = '2000-01-01';

function text(longest: number) {
  return z
    .string()
    .max(longest, `expected at most ${longest} characters`)
    .refine((given) => !/[\0\p{Cs}]/u.test(given), 'contains NUL or a lone surrogate');
}

function filledText(longest: number) {
  return text(longest).trim().min(1, 'expected a non-empty string');
}

const siteUrl = filledText(ADDRESS_MAX)
  .refine(isProperty, 'expected a property such as https://example.com/ or sc-domain:example.com')
  .describe(
    'The Search Console property: a URL such as `https://shop.example/`, or a domain such as `sc-domain:shop.example`.',
  );

const AUTH_TYPE_MEANING =
  '`service_account`: a service account with its key. `oauth`: an OAuth client with a refresh token.';
const serviceAccount = z.strictObject({
  type: z.literal('service_account').describe(AUTH_TYPE_MEANING),
  clientEmail: filledText(ACCOUNT_MAX)
    .regex(/^[^\s@]+@[^\s@]+$/, 'expected an e-mail address')
    .describe('The e-mail address of the service account.'),
  privateKey: filledText(KEY_MAX)
    .regex(
      /^-----BEGIN (?:RSA )?PRIVATE KEY-----\s[A-Za-z\d+/=\s]+-----END (?:RSA )?PRIVATE KEY-----$/,
      'expected a private key in PEM format, including line breaks',
    )
    .describe('The private key of the service account, in PEM. Stored encrypted, never returned.'),
});
const oauth = z.strictObject({
  type: z.literal('oauth').describe(AUTH_TYPE_MEANING),
  clientId: filledText(ACCOUNT_MAX).describe('The OAuth client id.'),
  clientSecret: filledText(SECRET_MAX).describe('The OAuth client secret. Stored encrypted, never returned.'),
  refreshToken: filledText(SECRET_MAX).describe('The OAuth refresh token. Stored encrypted, never returned.'),
});
export const authentication = z.discriminatedUnion('type', [serviceAccount, oauth], {
  error: 'expected a type: service_account or oauth',
});
export type Authentication = Readonly<z.output<typeof authentication>>;

/** `PUT /manage/projects/{projectId}/gsc`; replaces the whole connection. */
export const connectionChange = z.strictObject({
  siteUrl,
  auth: authentication.describe('The credentials for the Search Console.'),
});

/** `unreadable`: the secrets were sealed with a key that is lost and must be set again. */
export const CONNECTION_STATES = ['connected', 'not-connected', 'unreadable'] as const;

/** A connection as it is returned. */
export const connectionShown = z.object({
  connected: z.boolean().describe('Whether a connection exists and its secrets are readable.'),
  siteUrl: describedLike(z.string().nullable(), siteUrl),
  authType: z.enum(AUTH_TYPES).nullable().describe('The type of the credentials. Null without a connection.'),
  account: z
    .string()
    .nullable()
    .describe(
      'The e-mail address of the service account, or the OAuth client id. Null without a connection.',
    ),
  state: z
    .enum(CONNECTION_STATES)
    .describe(
      '`connected`, `not-connected`, or `unreadable`: the secrets were encrypted with a key that is lost. Connect the site again.',
    ),
});
export type ConnectionShown = z.output<typeof connectionShown>;
export const connectionAnswer = z.object({ data: connectionShown });

/** The extent of a site's rows: their number, first and last day, and the last import. */
export const importedShown = z.object({
  lastImportAt: instant.nullable().describe('Time of the last import, in UTC. Null without rows.'),
  firstDate: z.iso.date().nullable().describe('The first day with rows. Null without rows.'),
  lastDate: z.iso.date().nullable().describe('The last day with rows. Null without rows.'),
  rows: z.number().int().describe('Number of distinct rows.'),
});
export type ImportedShown = z.output<typeof importedShown>;

/** States of a connection. */
export const SYNC_STATES = [
  'never-synced',
  'backfilling',
  'up-to-date',
  'token-expired',
  'no-access',
  'quota',
  'unreadable',
  'failing',
] as const;

const date = z.iso.date();

/** Progress of a connection's rows. Days are the Search Console's, in Pacific time. */
export const syncShown = z.object({
  state: z
    .enum(SYNC_STATES)
    .describe(
      '`never-synced`: nothing has been fetched yet. `backfilling`: the newest days are there, earlier ones follow. `up-to-date`: everything is there. `token-expired`, `no-access` and `unreadable`: connect the site again, or give the account access. `quota`: Google asks to wait. `failing`: the reason is in `failure`. What fails is tried again at `failure.nextTryAt`, and at once when the connection is changed.',
    ),
  backfill: z
    .object({
      from: date.describe('The first day of the backfill, 16 months before the connection.'),
      to: date.describe('Its last day, which is fetched first.'),
      daysDone: z.number().int().describe('Days fetched so far, newest first.'),
      daysTotal: z.number().int().describe('Days of the backfill.'),
      percent: z.number().describe('The share of days fetched, from 0 to 100, rounded down.'),
    })
    .nullable()
    .describe('The progress with the days before the connection; null before the first attempt.'),
  lastSyncedAt: instant.nullable().describe('When the newest days were last fetched completely.'),
  lastDay: date.nullable().describe('The last day that was fetched, which is usually yesterday.'),
  preliminaryFrom: date
    .nullable()
    .describe(
      'Figures from this day on may still change, and are fetched again: the last three days, and days that Google calls incomplete. Null before the first sync.',
    ),
  failure: z
    .object({
      reason: z
        .enum(SYNC_FAILURES)
        .describe(
          'The reason. `google-away`: Google does not answer, or with an error of its own. `store-away`: the event store is unreachable. `failed`: see the log of the service.',
        ),
      message: z.string().describe('The reason in plain English.'),
      since: instant.describe('The first of these failures in a row.'),
      attempts: z.number().int().describe('Failures in a row.'),
      nextTryAt: instant.describe('When it is tried again.'),
    })
    .nullable()
    .describe('Why nothing can be fetched now; null when nothing fails.'),
});
export type SyncShown = z.output<typeof syncShown>;

/** `GET /manage/projects/{projectId}/gsc` */
export const statusAnswer = z.object({
  data: connectionShown.extend({
    ...importedShown.shape,
    sync: syncShown.nullable().describe('What the service fetches by itself; null without a connection.'),
  }),
});

const count = z.number().int('expected a whole number').min(0).max(COUNT_MAX);

/** The figures of one day, query and page; of one country and device type if these are given. */
const searchConsoleRow = z
  .strictObject({
    date: z.iso
      .date('expected a day such as 2026-03-01')
      .refine((date) => date >= FIRST_DAY, `expected a day from ${FIRST_DAY} on`)
      .describe(
        'The day, as reported by the Search Console (in Pacific time). From 2000-01-01 to tomorrow in UTC.',
      ),
    query: text(QUERY_MAX).describe('The search query. Empty when it is withheld.'),
    page: filledText(ADDRESS_MAX).describe('The URL of the result.'),
    country: z
      .string()
      .toLowerCase()
      .regex(/^[a-z]{3}$/, 'expected three letters such as deu')
      .optional()
      .describe('Three-letter country code such as `deu`. Omit it for figures of all countries.'),
    device: z
      .string()
      .toLowerCase()
      .pipe(z.enum(['desktop', 'mobile', 'tablet']))
      .optional()
      .describe('`desktop`, `mobile` or `tablet`. Omit it for figures of all devices.'),
    clicks: count.describe('Number of clicks on the result, at most `impressions`.'),
    impressions: count.describe('Number of times the result was shown.'),
    position: z
      .number()
      .min(0)
      .max(POSITION_MAX)
      .describe('Average position in the results over all impressions, starting at 1.'),
  })
  .refine(({ clicks, impressions }) => clicks <= impressions, {
    path: ['clicks'],
    message: 'expected at most as many clicks as impressions',
  });
export type SearchConsoleRow = Readonly<z.output<typeof searchConsoleRow>>;

/** `POST /manage/projects/{projectId}/gsc/rows` */
export const rowsImport = z.strictObject({
  rows: boundedList(
    z.array(searchConsoleRow).min(1, 'expected at least one row'),
    ROWS_MAX,
    `expected at most ${ROWS_MAX} rows`,
  )
    .superRefine((rows, context) => {
      const duplicate = firstDuplicate(rows);
      if (duplicate === undefined) return;
      const message = `has the same date, query, page, country and device as rows.${duplicate.of}`;
      context.addIssue({ code: 'custom', path: [duplicate.index], message });
    })
    .describe('Figures by day, query and page.'),
});
export const rowsImported = z.object({
  data: z.object({ imported: z.number().int().describe('Number of rows stored.') }),
});

/**
 * The last day that a row may have at `nowMs`: tomorrow in UTC. The Search Console counts days in Pacific time, which
 * never are ahead of UTC; the day more allows for callers whose clock or time zone is ahead.
 */
export function lastDayAt(nowMs: number): string {
  return new Date(nowMs + DAY_MS).toISOString().slice(0, 10);
}

/** The first row that would replace an earlier row of the same request, which must be a mistake. */
function firstDuplicate(rows: readonly SearchConsoleRow[]): { index: number; of: number } | undefined {
  const seen = new Map<string, number>();
  for (const [index, { date, query, page, country, device }] of rows.entries()) {
    const key = JSON.stringify([date, query, page, country, device]);
    const of = seen.get(key);
    if (of !== undefined) return { index, of };
    seen.set(key, index);
  }
  return undefined;
}

/** A complete URL, or a domain with its subdomains. */
function isProperty(given: string): boolean {
  if (/^sc-domain:[\p{L}\p{N}_-]+(?:\.[\p{L}\p{N}_-]+)*$/u.test(given)) return true;
  if (!/^https?:\/\/\S+$/.test(given) || !URL.canParse(given)) return false;
  const { username, password } = new URL(given);
  return username === '' && password === '';
}
