import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { KeyedBytes } from '../bus/keyed-bytes.ts';
import { encodeJson } from '../bus/mirror.ts';
import { HOUR_MS } from '../durations.ts';
import { withoutTrailingSlashes } from '../network/trailing-slashes.ts';
import { type Client, CONTROL_BUCKET } from './accounts.ts';

/**
 * CONTRACT between the programs that print sign-in links and the service that accepts them: records in the control bucket, as JSON by
 * `link.<hash of the token>`. Only the link contains the token itself.
 */
export const LINK_PREFIX = 'link.';
/** The bucket that holds the records. */
export const LINK_BUCKET = CONTROL_BUCKET;
/** The time for which a link works, once. */
export const LINK_AGE_MAX_MS = HOUR_MS;

const TOKEN_BYTES = 32;
const TOKEN = /^[\w-]{43}$/;

export const linkSchema = z.object({
  clientId: z.uuid(),
  /** Fingerprint of the client's secret when the link was made; another secret ends the link. */
  fingerprint: z.string(),
  expiresAt: z.iso.datetime(),
});
export type SignInLink = Readonly<z.output<typeof linkSchema>>;

/** Stores a link for a client; returns its token. */
export async function createSignInLink(
  bucket: KeyedBytes,
  { id, secretHash }: Pick<Client, 'id' | 'secretHash'>,
  nowMs: number,
): Promise<string> {
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  const expiresAt = new Date(nowMs + LINK_AGE_MAX_MS).toISOString();
  const link: SignInLink = { clientId: id, fingerprint: sha256(secretHash), expiresAt };
  await bucket.put(LINK_PREFIX + sha256(token), encodeJson(link), 0);
  return token;
}

/** The key of the record of a token; undefined for a text that is no token. */
export function linkKeyOf(token: string): string | undefined {
  return TOKEN.test(token) ? LINK_PREFIX + sha256(token) : undefined;
}

/** The address that signs a browser in. The token comes after `#`, so that no server and no log gets it. */
export function signInUrl(baseUrl: string, token: string): string {
  return `${withoutTrailingSlashes(baseUrl)}/#sign-in=${token}`;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
