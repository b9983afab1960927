import { z } from 'zod';

/** CONTRACT of `/sign-in`, `/session` and `/sign-out`. */

export const SIGN_IN_BODY_MAX_BYTES = 8_192;
const TEXT_MAX = 1_000;

const textField = z
  .string({ error: 'expected a text' })
  .min(1, 'expected a non-empty text')
  .max(TEXT_MAX, `expected at most ${TEXT_MAX} characters`);

export const clientSignIn = z.strictObject({
  clientId: textField.describe('The id of a read or root client.'),
  clientSecret: textField.describe('The secret of the client.'),
});
export const linkSignIn = z.strictObject({
  link: textField.describe('The token of a sign-in link, which works once and for an hour.'),
});

export const userSignIn = z.strictObject({
  email: textField.describe('The e-mail address of a user.'),
  passphrase: textField.describe('The passphrase of the user.'),
});

/** `POST /sign-in` */
export const signInBody = z.union([clientSignIn, userSignIn, linkSignIn]);
export type SignInBody = z.output<typeof signInBody>;

/** The schema of the kind that a body means, so that an error names its field. */
export function schemaFor(sent: unknown): z.ZodType<SignInBody> {
  const isOf = (name: string) => typeof sent === 'object' && sent !== null && Object.hasOwn(sent, name);
  if (isOf('link')) return linkSignIn;
  if (isOf('email') || isOf('passphrase')) return userSignIn;
  return clientSignIn;
}

/** `POST /shared/{token}/open` */
export const shareOpening = z.strictObject({
  passphrase: textField.optional().describe('The passphrase of the link, if it needs one.'),
});

const shownSite = z.object({
  id: z.string(),
  name: z.string(),
  timezone: z.string(),
  currency: z.string().describe('ISO 4217.'),
  isPublic: z.boolean().describe('Whether everyone may see the live visitors.'),
});

/** `GET /session`, and the answer to a sign-in. */
export const sessionAnswer = z.object({
  name: z.string().describe('The name of the client or user.'),
  kind: z.enum(['client', 'user']),
  role: z
    .enum(['root', 'read'])
    .describe('`root` sees all sites of its team and may manage; `read` only reads.'),
  sites: z.array(shownSite).describe('The sites that may be read, by name.'),
  expiresAt: z.iso
    .datetime({ precision: 3 })
    .describe('When the sign-in ends unless it is used again, in UTC.'),
});
export type SessionAnswer = z.output<typeof sessionAnswer>;
export type ShownSite = SessionAnswer['sites'][number];

/** `GET /shared/{token}` */
export const sharedAnswer = z.object({
  site: shownSite
    .nullable()
    .describe('Null while the link needs its passphrase, and the browser may not read the site.'),
  needsPassphrase: z.boolean().describe('Whether opening the link takes a passphrase.'),
});
export type SharedAnswer = z.output<typeof sharedAnswer>;

/** The answer to `POST /shared/{token}/open` */
export const openedShare = sharedAnswer.extend({
  site: shownSite,
  viewToken: z
    .string()
    .describe(
      'Sent in the header `footfall-share`, it may read what the cookie may. An answer with that header has the token to use from then on.',
    ),
  viewTokenExpiresAt: z.iso
    .datetime({ precision: 3 })
    .describe('When the view token ends unless it is used, in UTC.'),
});
export type OpenedShare = z.output<typeof openedShare>;
