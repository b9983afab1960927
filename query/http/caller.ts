import type { Client } from '../../infra/accounts/accounts.ts';
import type { SiteId } from '../../infra/accounts/ids.ts';
import type { HeaderList } from '../../infra/http/headers.ts';
import type { BrowserHead } from './browser-head.ts';

/**
 * The caller: a client that sent its secret, or the holder of a cookie, presented as a client. So a signed-in client, a user and
 * the holder of a shared link have the rights and limits of a client.
 */
export interface Caller extends Client {
  /** Absent for a client that sent its secret. */
  readonly proof?: CookieProof;
}

/** The proof given by a cookie. */
export interface CookieProof {
  readonly kind: 'client' | 'user' | 'share';
  /** The sign-in, or the shared link. */
  readonly id: string;
  /** When it ends at the latest unless it is used. */
  readonly expiresAtMs: number;
  /** The sites of a user with the role `read`, and of a shared link; absent: decided by the caller's type. */
  readonly siteIds?: readonly SiteId[];
}

/** A caller, and the headers that renew its cookie. */
export interface CookieCaller {
  readonly caller: Caller;
  readonly headers: HeaderList;
}

/** The use of a cookie. */
export interface CookieUse {
  /** True if the bus may be asked about a cookie that this process does not know, which costs I/O. */
  readonly mayLookUp: boolean;
  /** The site that a question is about; only there a shared link counts, where the sign-in may not read it. */
  readonly siteId: SiteId | undefined;
}

/** Finds the callers of a request's cookies; see `query/sign-in`. */
export interface CookieCallers {
  /** Undefined for a cookie that is wrong or over. */
  callerOf(browser: BrowserHead, use: CookieUse): Promise<CookieCaller | undefined>;
  /** The caller as it is now; undefined once its cookie's proof is no longer valid. */
  present(caller: Caller): Caller | undefined;
}

/** True if a caller other than a root client may read this site. */
export function isOwnSite({ projectId, proof }: Caller, siteId: SiteId): boolean {
  return proof?.siteIds === undefined ? projectId === siteId : proof.siteIds.includes(siteId);
}
