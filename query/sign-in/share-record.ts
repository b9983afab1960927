import { randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { storedIdSchema } from '../../infra/accounts/ids.ts';
import { hashOf } from './sign-in-record.ts';

/** CONTRACT between the query processes: shared links in the control bucket, as JSON by `share.<uuid>`, and their tokens. */
export const SHARE_PREFIX = 'share.';

const instant = z.iso.datetime();

export const shareSchema = z.object({
  id: z.uuid(),
  teamId: z.string().min(1),
  projectId: z.string(),
  storedId: storedIdSchema.min(1),
  name: z.string(),
  /** Hash of the token's random part; the token is only in the link. */
  tokenHash: z.string().regex(/^[0-9a-f]{64}$/),
  /** The output of `Passphrases`; null: the link is enough. */
  passphraseHash: z.string().nullable(),
  /** Null: until it is deleted. */
  expiresAt: instant.nullable(),
  createdAt: instant,
  updatedAt: instant,
});
export type Share = Readonly<z.output<typeof shareSchema>>;

const SECRET_BYTES = 32;
const TOKEN = /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})([\w-]{43})$/;

export function shareKeyOf(id: string): string {
  return SHARE_PREFIX + id;
}

export function newShareSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}

/** The token of a link: the id, to find it without a search, and the secret that only the link has. */
export function shareTokenOf(id: string, secret: string): string {
  return id.replaceAll('-', '') + secret;
}

/** Undefined for a text that is no token. */
export function readShareToken(token: string): { readonly id: string; readonly secret: string } | undefined {
  const match = TOKEN.exec(token);
  return match === null ? undefined : { id: match.slice(1, 6).join('-'), secret: match[6] ?? '' };
}

export function isTokenOf({ tokenHash }: Share, secret: string): boolean {
  return timingSafeEqual(Buffer.from(hashOf(secret), 'hex'), Buffer.from(tokenHash, 'hex'));
}

/** Changes with the token and the passphrase: links opened with earlier ones end. */
export function shareFingerprint({ id, tokenHash, passphraseHash }: Share): string {
  return hashOf([id, tokenHash, passphraseHash ?? ''].join('\n'));
}
