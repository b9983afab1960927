import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../infra/clock.ts';
import type { User } from './user-record.ts';

/**
 * Browsers in which a user signed in before. Their cookie is a claim `user id.time` and its HMAC-SHA256. It gives no rights: a
 * passphrase from such a browser is verified before passphrases of strangers, and is counted for the user instead of the address.
 *
 * The key is derived from `SECRETS_KEY` and the stored hash of the passphrase, which has a random salt. So changing the
 * passphrase revokes every such cookie, and nothing is stored. If `SECRETS_KEY` is empty, the hash is a sufficient secret.
 */
export const KNOWN_BROWSER_MAX_MS = 15_552_000_000;

const KEY_BYTES = 32;
const KEY_NAME = 'known browsers';
const FORM = /^([0-9a-f-]{36})\.([0-9a-z]{1,11})\.([\w-]{43})$/;

export interface KnownBrowsersOptions {
  readonly secretsKey: string;
  readonly clock: Clock;
}

export class KnownBrowsers {
  readonly #options: KnownBrowsersOptions;

  constructor(options: KnownBrowsersOptions) {
    this.#options = options;
  }

  /** The cookie of a browser in which this user signs in now. */
  cookieOf(user: User): string {
    const claim = `${user.id}.${this.#options.clock.nowMs().toString(36)}`;
    return `${claim}.${this.#signatureOf(user, claim).toString('base64url')}`;
  }

  /** The id of the user named by a cookie, not proven yet; undefined for any other text. */
  claimedId(cookie: string): string | undefined {
    return FORM.exec(cookie)?.[1];
  }

  /** True if this user signed in with the present passphrase in the browser that has this cookie. */
  isOf(user: User, cookie: string): boolean {
    const [, id, time = '', signature = ''] = FORM.exec(cookie) ?? [];
    if (id !== user.id) return false;
    const ageMs = this.#options.clock.nowMs() - Number.parseInt(time, 36);
    if (!(ageMs < KNOWN_BROWSER_MAX_MS)) return false;
    const given = Buffer.from(signature, 'base64url');
    return timingSafeEqual(given, this.#signatureOf(user, `${id}.${time}`));
  }

  #signatureOf({ passphraseHash }: User, claim: string): Buffer {
    const salt = Buffer.from(this.#options.secretsKey, 'hex');
    const key = Buffer.from(hkdfSync('sha256', passphraseHash, salt, KEY_NAME, KEY_BYTES));
    return createHmac('sha256', key).update(claim).digest();
  }
}
