import { z } from 'zod';

/** CONTRACT with those who manage search-console data: every body and answer, and what is stored of a connection. */

export const ROWS_MAX = 10_000;
export const ROWS_BODY_MAX_BYTES = 8_388_608;

const ADDRESS_MAX = 2_048;
const ACCOUNT_MAX = 320;
const SECRET_MAX = 4_096;
const KEY_MAX = 16_384;
const QUERY_MAX = 2_048;
const COUNT_MAX = 4_294_967_295;
const POSITION_MAX = 10_000;
const FIRST_DAY = '2000-01-01';
const LAST_DAY = '2099-12-31';

const instant = z.iso.datetime();

function text(longest: number) {
  return z
    .string()
    .max(longest, `expected at most ${longest} characters`)
    .refine((given) => !/[\0\p{Cs}]/u.test(given), 'holds NUL or a lone surrogate');
}

function filledText(longest: number) {
  return text(longest).trim().min(1, 'expected a non-empty string');
}

const siteUrl = filledText(ADDRESS_MAX).refine(
  isProperty,
  'expected a property such as https://example.com/ or sc-domain:example.com',
);

export const AUTH_TYPES = ['service_account', 'oauth'] as const;

const serviceAccount = z.strictObject({
  type: z.literal('service_account'),
  clientEmail: filledText(ACCOUNT_MAX).regex(/^[^\s@]+@[^\s@]+$/, 'expected an e-mail address'),
  privateKey: filledText(KEY_MAX).regex(
    /^-----BEGIN (?:RSA )?PRIVATE KEY-----\s[A-Za-z\d+/=\s]+-----END (?:RSA )?PRIVATE KEY-----$/,
    'expected a private key in PEM, with its line breaks',
  ),
});
const oauth = z.strictObject({
  type: z.literal('oauth'),
  clientId: filledText(ACCOUNT_MAX),
  clientSecret: filledText(SECRET_MAX),
  refreshToken: filledText(SECRET_MAX),
});
export const authentication = z.discriminatedUnion('type', [serviceAccount, oauth], {
  error: 'expected a type: service_account or oauth',
});
export type Authentication = Readonly<z.output<typeof authentication>>;

/** `PUT /manage/projects/{projectId}/gsc`: replaces the connection as a whole. */
export const connectionChange = z.strictObject({ siteUrl, auth: authentication });

/** A connection as it is stored. */
export const connectionSchema = z.object({
  projectId: z.string().min(1),
  /** See `Site` in infra/accounts/accounts.ts. */
  storedId: z.string().min(1),
  siteUrl: z.string(),
  authType: z.enum(AUTH_TYPES),
  /** The client's e-mail address or id: whom a person has to look for; no secret. */
  account: z.string(),
  /** The secrets, as JSON that is sealed for the record's key; see infra/sealed.ts. */
  sealed: z.string(),
  updatedAt: instant,
});
export type Connection = Readonly<z.output<typeof connectionSchema>>;
export const CONNECTION_PREFIX = 'gsc.';

/** Where a site's connection lies in the control bucket. What takes over the id of a purged site does not find it. */
export function connectionKeyOf(storedId: string): string {
  // Keys cannot have the `~` that stored ids may have.
  const safe = /^[\w-]+$/.test(storedId) ? storedId : `=${Buffer.from(storedId).toString('base64url')}`;
  return CONNECTION_PREFIX + safe;
}

/** `unreadable`: the secrets were sealed with a key that this service does not have any more; give them again. */
export const CONNECTION_STATES = ['connected', 'not-connected', 'unreadable'] as const;

/** A connection as it is answered. */
export const connectionShown = z.object({
  connected: z.boolean(),
  siteUrl: z.string().nullable(),
  authType: z.enum(AUTH_TYPES).nullable(),
  account: z.string().nullable(),
  state: z.enum(CONNECTION_STATES),
});
export type ConnectionShown = z.output<typeof connectionShown>;
export const connectionAnswer = z.object({ data: connectionShown });

/** What of a site's rows is told: how many there are, of which days, and when the last ones came. */
export const importedShown = z.object({
  lastImportAt: instant.nullable(),
  firstDate: z.iso.date().nullable(),
  lastDate: z.iso.date().nullable(),
  rows: z.number().int(),
});
export type ImportedShown = z.output<typeof importedShown>;

/** `GET /manage/projects/{projectId}/gsc` */
export const statusAnswer = z.object({ data: connectionShown.extend(importedShown.shape) });

const count = z.number().int('expected a whole number').min(0).max(COUNT_MAX);

/** One day's figures of a query and a page; of one country and one kind of device, where those are told apart. */
const searchConsoleRow = z.strictObject({
  date: z.iso
    .date('expected a day such as 2026-03-01')
    .refine(
      (date) => date >= FIRST_DAY && date <= LAST_DAY,
      `expected a day from ${FIRST_DAY} to ${LAST_DAY}`,
    ),
  query: text(QUERY_MAX),
  page: filledText(ADDRESS_MAX),
  country: z
    .string()
    .toLowerCase()
    .regex(/^[a-z]{3}$/, 'expected three letters such as deu')
    .optional(),
  device: z
    .string()
    .toLowerCase()
    .pipe(z.enum(['desktop', 'mobile', 'tablet']))
    .optional(),
  clicks: count,
  impressions: count,
  position: z.number().min(0).max(POSITION_MAX),
});
export type SearchConsoleRow = Readonly<z.output<typeof searchConsoleRow>>;

/** `POST /manage/projects/{projectId}/gsc/rows` */
export const rowsImport = z.strictObject({
  rows: z
    .array(searchConsoleRow)
    .min(1, 'expected at least one row')
    .max(ROWS_MAX, `expected at most ${ROWS_MAX} rows`)
    .superRefine((rows, context) => {
      const sameTimestampEvent = firstSameTimestampEvent(rows);
      if (sameTimestampEvent === undefined) return;
      const message = `the same date, query, page, country and device as rows.${sameTimestampEvent.of}`;
      context.addIssue({ code: 'custom', path: [sameTimestampEvent.index], message });
    }),
});
export const rowsImported = z.object({ data: z.object({ imported: z.number().int() }) });

/** The first row that would replace one before it in the same request, of which only one can be meant. */
function firstSameTimestampEvent(
  rows: readonly SearchConsoleRow[],
): { index: number; of: number } | undefined {
  const seen = new Map<string, number>();
  for (const [index, { date, query, page, country, device }] of rows.entries()) {
    const key = JSON.stringify([date, query, page, country, device]);
    const of = seen.get(key);
    if (of !== undefined) return { index, of };
    seen.set(key, index);
  }
  return undefined;
}

/** A whole address, or a domain with everything below it. */
function isProperty(given: string): boolean {
  if (/^sc-domain:[\p{L}\p{N}_-]+(?:\.[\p{L}\p{N}_-]+)*$/u.test(given)) return true;
  if (!/^https?:\/\/\S+$/.test(given) || !URL.canParse(given)) return false;
  const { username, password } = new URL(given);
  return username === '' && password === '';
}
