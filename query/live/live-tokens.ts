import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { Client, Site } from '../../infra/accounts/accounts.ts';
import { type StoredId, storedIdSchema } from '../../infra/accounts/ids.ts';
import type { Clock } from '../../infra/clock.ts';
import type { Directory } from '../http/access.ts';
import { RejectError } from '../reject.ts';
import type { LiveTokenAnswer } from './live-api.ts';

/**
 * Short-lived tokens that show their holder one number, the live visitors of a site, or the site's whole wall page. A
 * token is its claims as JSON and their HMAC-SHA256, both base64url. It ends at its time, with its site, and with its
 * client or the client's secret: a fingerprint of the secret's hash is in it, so rotating the secret revokes it.
 * Nothing is stored.
 */
/** The first claim: the extent of the data that the token shows. */
const NUMBER = 1;
const WHOLE = 2;
const KEY_BYTES = 32;
const FINGERPRINT_BYTES = 12;
const FORM = /^([\w-]{1,900})\.([\w-]{43})$/;

/** The claims of a token; it is valid until one of them is no longer true. */
export interface TokenClaims {
  readonly storedId: StoredId;
  readonly clientId: string;
  readonly fingerprint: string;
  readonly expiresAtMs: number;
  /** It also shows referrers, and the visitors of today. */
  readonly isWhole: boolean;
}

const claimsSchema = z.tuple([z.literal([NUMBER, WHOLE]), storedIdSchema, z.string(), z.string(), z.int()]);

export interface LiveTokensOptions {
  /** `SECRETS_KEY`; the key of the tokens is derived from it. Without it there are no tokens. */
  readonly secretsKey: string;
  readonly clock: Clock;
  readonly directory: Pick<Directory, 'client'>;
}

/** Makes and reads tokens. Every process with the same `SECRETS_KEY` reads the tokens of the others. */
export class LiveTokens {
  readonly #options: LiveTokensOptions;
  readonly #key: Buffer | undefined;

  constructor(options: LiveTokensOptions) {
    this.#options = options;
    const { secretsKey } = options;
    if (secretsKey !== '')
      this.#key = Buffer.from(
        hkdfSync('sha256', Buffer.from(secretsKey, 'hex'), '', 'live tokens', KEY_BYTES),
      );
  }

  /** @throws {RejectError} while there is no key */
  issue(
    site: Pick<Site, 'storedId'>,
    client: Client,
    { ttlMs, isWhole }: { readonly ttlMs: number; readonly isWhole: boolean },
  ): LiveTokenAnswer {
    if (this.#key === undefined)
      throw new RejectError('not-set-up', 'SECRETS_KEY is not set, so no tokens can be signed');
    const expiresAtMs = Math.min(this.#options.clock.nowMs() + ttlMs, endOf(client));
    const kind = isWhole ? WHOLE : NUMBER;
    const claims = [kind, site.storedId, client.id, this.#fingerprintOf(client), expiresAtMs];
    const text = Buffer.from(JSON.stringify(claims)).toString('base64url');
    const token = `${text}.${this.#signatureOf(text).toString('base64url')}`;
    return { token, expiresAt: new Date(expiresAtMs).toISOString() };
  }

  /** The claims of a token that is valid now; undefined for any other text. */
  read(token: string): TokenClaims | undefined {
    const [, text, signature] = FORM.exec(token) ?? [];
    if (text === undefined || signature === undefined || this.#key === undefined) return undefined;
    if (!timingSafeEqual(this.#signatureOf(text), Buffer.from(signature, 'base64url'))) return undefined;
    const parsed = claimsSchema.safeParse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')));
    if (!parsed.success) return undefined;
    const [kind, storedId, clientId, fingerprint, expiresAtMs] = parsed.data;
    const claims = { storedId, clientId, fingerprint, expiresAtMs, isWhole: kind === WHOLE };
    return this.isValid(claims) ? claims : undefined;
  }

  /** True if the token has not expired, and its client still exists with the same secret and may ask. */
  isValid({ clientId, fingerprint, expiresAtMs }: Omit<TokenClaims, 'isWhole'>): boolean {
    const client = this.#options.directory.client(clientId);
    if (client === undefined || this.#options.clock.nowMs() >= Math.min(expiresAtMs, endOf(client)))
      return false;
    if (client.scopes !== undefined && !client.scopes.includes('insights')) return false;
    return this.#fingerprintOf(client) === fingerprint;
  }

  #fingerprintOf({ secretHash }: Client): string {
    return this.#signatureOf(`secret\n${secretHash}`).toString('base64url', 0, FINGERPRINT_BYTES);
  }

  #signatureOf(text: string): Buffer {
    return createHmac('sha256', this.#key ?? '')
      .update(text)
      .digest();
  }
}

function endOf({ expiresAt }: Client): number {
  return expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(expiresAt);
}
