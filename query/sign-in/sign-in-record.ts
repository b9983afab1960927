import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';

/** CONTRACT between the query processes: sign-ins in the control bucket, as JSON by `signin.<id>`, and their tokens. */
export const SIGN_IN_PREFIX = 'signin.';

/** A token is replaced when it is used after this time; the time of use is recorded as precisely. */
export const RENEW_AFTER_MS = 600_000;
/** Time for which the previous token is still accepted, for requests that were on their way. */
export const GRACE_MS = 60_000;
/** A sign-in that is not used for this time ends. */
export const IDLE_MAX_MS = 43_200_000;
/** The longest time that a sign-in lasts, used or not. */
export const AGE_MAX_MS = 2_592_000_000;

export const HOLDER_KINDS = ['client', 'user'] as const;

const instant = z.iso.datetime();
const digest = z.string().regex(/^[0-9a-f]{64}$/);

/**
 * A sign-in. Only a hash of its token is stored. The next token is an HMAC of the present one by a random salt: only the holder
 * of the present token can get the next, and every request with the present one gets the same.
 */
export const signInSchema = z.object({
  id: z.string().regex(/^[0-9a-f]{32}$/),
  holder: z.object({ kind: z.enum(HOLDER_KINDS), id: z.uuid() }),
  /** Fingerprint of the holder's secret or passphrase at sign-in; changing the secret ends the sign-in. */
  fingerprint: digest,
  startedAt: instant,
  /** When the present token was made. */
  renewedAt: instant,
  hash: digest,
  /** The token before, and the salt that makes the present one of it. */
  before: z.object({ hash: digest, salt: z.string() }).nullable(),
});
export type SignIn = Readonly<z.output<typeof signInSchema>>;
export type Holder = SignIn['holder'];

/** Undefined for bytes that are no sign-in. */
export function decodeSignIn(bytes: Uint8Array): SignIn | undefined {
  try {
    return signInSchema.safeParse(JSON.parse(Buffer.from(bytes).toString('utf8'))).data;
  } catch {
    return undefined;
  }
}

/** The contents of a cookie. */
export interface SignInToken {
  readonly id: string;
  readonly secret: string;
}

const TOKEN = /^([0-9a-f]{32})\.([\w-]{43})$/;
const ID_BYTES = 16;
const SECRET_BYTES = 32;

export function newToken(): SignInToken {
  return {
    id: randomBytes(ID_BYTES).toString('hex'),
    secret: randomBytes(SECRET_BYTES).toString('base64url'),
  };
}

/** Undefined for a text that is no token. */
export function readToken(text: string): SignInToken | undefined {
  const [, id, secret] = TOKEN.exec(text) ?? [];
  return id === undefined || secret === undefined ? undefined : { id, secret };
}

export function textOf({ id, secret }: SignInToken): string {
  return `${id}.${secret}`;
}

/** A token has 256 random bits and cannot be found by trying, so a slow hash would protect nothing. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** The token after this one. */
export function nextToken({ id, secret }: SignInToken, salt: string): SignInToken {
  return { id, secret: createHmac('sha256', salt).update(secret).digest('base64url') };
}

/** Returns the role of a token in a sign-in at this time; undefined for any other token, and for one replaced earlier. */
export function roleOf(
  { hash, before, renewedAt }: SignIn,
  { secret }: SignInToken,
  nowMs: number,
): 'present' | 'before' | undefined {
  const given = Buffer.from(hashOf(secret), 'hex');
  const isHash = (other: string) => timingSafeEqual(given, Buffer.from(other, 'hex'));
  if (isHash(hash)) return 'present';
  const isInGrace = nowMs < Date.parse(renewedAt) + GRACE_MS;
  return before !== null && isInGrace && isHash(before.hash) ? 'before' : undefined;
}

/**
 * When a sign-in ends unless it is used: at least `IDLE_MAX_MS` after the last use, which is recorded with a delay of up to
 * `RENEW_AFTER_MS`.
 */
export function endsAtMs({ startedAt, renewedAt }: Pick<SignIn, 'startedAt' | 'renewedAt'>): number {
  return Math.min(Date.parse(startedAt) + AGE_MAX_MS, Date.parse(renewedAt) + RENEW_AFTER_MS + IDLE_MAX_MS);
}
