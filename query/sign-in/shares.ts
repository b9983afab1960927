import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { Accounts, Site } from '../../infra/accounts/accounts.ts';
import type { Mirror } from '../../infra/bus/mirror.ts';
import type { Clock } from '../../infra/clock.ts';
import type { Caller } from '../http/caller.ts';
import { RejectError } from '../reject.ts';
import { isTokenOf, readShareToken, type Share, shareFingerprint, shareKeyOf } from './share-record.ts';
import { endsAtMs, RENEW_AFTER_MS } from './sign-in-record.ts';

/**
 * Opened links. A public link has more viewers than could be stored, so nothing is: cookie and view token are a claim and its
 * HMAC-SHA256, both base64url. They end with their record, its token or its passphrase, which each request looks up, and when
 * their time is over: a cookie has the times of a sign-in. Each kind has its own key, so neither is accepted as the other.
 */
const VERSION = 1;
const KEY_BYTES = 32;
const FORM = /^([\w-]{1,500})\.([\w-]{43})$/;
const claimSchema = z.tuple([z.literal(VERSION), z.uuid(), z.string(), z.iso.datetime(), z.iso.datetime()]);

/** The kinds of a viewer's proof that it opened a link. */
export type ShareProofKind = 'cookie' | 'view';

/** Short, because a view token is in the memory of a page, where that page's scripts can read it. */
export const VIEW_TOKEN_IDLE_MAX_MS = 1_800_000;

/** The purposes for which the keys are derived. */
const KEY_NAMES: Readonly<Record<ShareProofKind, string>> = {
  cookie: 'shared links',
  view: 'views of shared links',
};

/** The claim of a cookie or view token. */
interface Claim {
  readonly id: string;
  readonly fingerprint: string;
  readonly startedAt: string;
  readonly renewedAt: string;
}

export interface SharesOptions {
  /** `SECRETS_KEY`, of which the keys are derived. Empty: no link can be opened. */
  readonly secretsKey: string;
  readonly clock: Clock;
  readonly accounts: Pick<Accounts, 'site'>;
  readonly shares: Mirror<Share>;
}

/** A link that works now, and its site. */
export interface PresentShare {
  readonly share: Share;
  readonly site: Site;
}

/**
 * Shared links, and the callers with an opened one. Every process with the same `SECRETS_KEY` reads the cookies of the others.
 */
export class Shares {
  readonly #options: SharesOptions;
  readonly #keys: Readonly<Record<ShareProofKind, Buffer>> | undefined;

  constructor(options: SharesOptions) {
    this.#options = options;
    const { secretsKey } = options;
    if (secretsKey === '') return;
    const keyFor = (kind: ShareProofKind) =>
      Buffer.from(hkdfSync('sha256', Buffer.from(secretsKey, 'hex'), '', KEY_NAMES[kind], KEY_BYTES));
    this.#keys = { cookie: keyFor('cookie'), view: keyFor('view') };
  }

  /** The link of a token; undefined for any other text, and once the link has ended. */
  find(token: string): PresentShare | undefined {
    const parts = readShareToken(token);
    const found = parts === undefined ? undefined : this.#present(parts.id);
    return found !== undefined && parts !== undefined && isTokenOf(found.share, parts.secret)
      ? found
      : undefined;
  }

  /** The cookie or view token of a viewer who opens a link now. @throws {RejectError} while there is no key */
  open(kind: ShareProofKind, { share }: PresentShare): string {
    const at = new Date(this.#options.clock.nowMs()).toISOString();
    return this.#sign(kind, {
      id: share.id,
      fingerprint: shareFingerprint(share),
      startedAt: at,
      renewedAt: at,
    });
  }

  /** Returns the present caller of a cookie or view token, and its replacement if there is one. */
  use(
    kind: ShareProofKind,
    text: string,
  ): { readonly caller: Caller; readonly renewed: string | undefined } | undefined {
    const claim = this.#read(kind, text);
    const caller = claim === undefined ? undefined : this.#callerOf(kind, claim);
    if (claim === undefined || caller === undefined) return undefined;
    const nowMs = this.#options.clock.nowMs();
    if (nowMs < Date.parse(claim.renewedAt) + RENEW_AFTER_MS) return { caller, renewed: undefined };
    const next = { ...claim, renewedAt: new Date(nowMs).toISOString() };
    return { caller: this.#callerOf(kind, next) ?? caller, renewed: this.#sign(kind, next) };
  }

  /** The caller as it is now; undefined once its link or its site is gone, or its proof has expired. */
  present({ id, secretHash, proof }: Caller): Caller | undefined {
    const found = this.#present(id);
    if (found === undefined || proof === undefined || proof.expiresAtMs <= this.#options.clock.nowMs())
      return undefined;
    return shareFingerprint(found.share) === secretHash ? asCaller(found, proof.expiresAtMs) : undefined;
  }

  #callerOf(kind: ShareProofKind, { id, fingerprint, startedAt, renewedAt }: Claim): Caller | undefined {
    const found = this.#present(id);
    if (found === undefined || shareFingerprint(found.share) !== fingerprint) return undefined;
    const { expiresAt } = found.share;
    const expiresAtMs = Math.min(
      endsAtMs({ startedAt, renewedAt }),
      kind === 'view' ? Date.parse(renewedAt) + VIEW_TOKEN_IDLE_MAX_MS : Number.POSITIVE_INFINITY,
      expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt),
    );
    return expiresAtMs <= this.#options.clock.nowMs() ? undefined : asCaller(found, expiresAtMs);
  }

  #present(id: string): PresentShare | undefined {
    const { shares, accounts, clock } = this.#options;
    const share = shares.get(shareKeyOf(id));
    if (share === undefined) return undefined;
    if (share.expiresAt !== null && Date.parse(share.expiresAt) <= clock.nowMs()) return undefined;
    const site = accounts.site(share.projectId);
    return site?.storedId === share.storedId && site.teamId === share.teamId ? { share, site } : undefined;
  }

  #sign(kind: ShareProofKind, { id, fingerprint, startedAt, renewedAt }: Claim): string {
    if (this.#keys === undefined)
      throw new RejectError('not-set-up', 'SECRETS_KEY is not set, so no shared link can be opened');
    const claim = JSON.stringify([VERSION, id, fingerprint, startedAt, renewedAt]);
    const text = Buffer.from(claim).toString('base64url');
    return `${text}.${signatureOf(this.#keys[kind], text).toString('base64url')}`;
  }

  #read(kind: ShareProofKind, given: string): Claim | undefined {
    const [, text, signature] = FORM.exec(given) ?? [];
    if (text === undefined || signature === undefined || this.#keys === undefined) return undefined;
    const expected = signatureOf(this.#keys[kind], text);
    if (!timingSafeEqual(expected, Buffer.from(signature, 'base64url'))) return undefined;
    const parsed = claimSchema.safeParse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')));
    if (!parsed.success) return undefined;
    const [, id, fingerprint, startedAt, renewedAt] = parsed.data;
    return { id, fingerprint, startedAt, renewedAt };
  }
}

function signatureOf(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

/** A viewer has the rights of a read client of the site. */
function asCaller({ share, site }: PresentShare, expiresAtMs: number): Caller {
  const { id, name, teamId, createdAt, updatedAt } = share;
  return {
    ...{ id, name, teamId, createdAt, updatedAt, type: 'read', projectId: site.id },
    secretHash: shareFingerprint(share),
    proof: { kind: 'share', id, expiresAtMs, siteIds: [site.id] },
  };
}
