import type { Accounts } from '../../infra/accounts/accounts.ts';
import type { SiteId } from '../../infra/accounts/ids.ts';
import type { Clock } from '../../infra/clock.ts';
import type { HeaderList } from '../../infra/http/headers.ts';
import {
  type BrowserHead,
  type CookieName,
  KNOWN_BROWSER_COOKIE,
  SHARE_COOKIE,
  SIGN_IN_COOKIE,
  setCookie,
  VIEW_TOKEN,
} from '../http/browser-head.ts';
import {
  type Caller,
  type CookieCaller,
  type CookieCallers,
  type CookieUse,
  isOwnSite,
} from '../http/caller.ts';
import { KNOWN_BROWSER_MAX_MS, type KnownBrowsers } from './known-browsers.ts';
import type { Shares } from './shares.ts';
import type { SignIns } from './sign-ins.ts';
import type { User } from './user-record.ts';

export interface CookiesOptions {
  readonly accounts: Pick<Accounts, 'site'>;
  readonly signIns: SignIns;
  readonly shares: Shares;
  readonly knownBrowsers: KnownBrowsers;
  readonly clock: Clock;
}

/** Finds the callers of requests' cookies, and makes the cookies of answers. */
export class Cookies implements CookieCallers {
  readonly #options: CookiesOptions;

  constructor(options: CookiesOptions) {
    this.#options = options;
  }

  async callerOf(browser: BrowserHead, { mayLookUp, siteId }: CookieUse): Promise<CookieCaller | undefined> {
    const { signIns, shares } = this.#options;
    // A page that sends a view token is one of the link, so it has no more rights where a person is signed in, too.
    if (browser.viewToken !== '') return siteId === undefined ? undefined : this.#viewerOf(browser.viewToken);
    const token = browser.cookies[SIGN_IN_COOKIE];
    const signedIn = token === '' ? undefined : await signIns.use(token, mayLookUp);
    const ofSignIn = signedIn && {
      caller: signedIn.caller,
      headers:
        signedIn.renewed === undefined ? [] : this.signInCookie(browser, signedIn.renewed, signedIn.caller),
    };
    if (siteId === undefined || (ofSignIn !== undefined && this.#mayRead(ofSignIn.caller, siteId)))
      return ofSignIn;
    const opened = shares.use('cookie', browser.cookies[SHARE_COOKIE]);
    if (opened === undefined || (ofSignIn !== undefined && !isOwnSite(opened.caller, siteId)))
      return ofSignIn;
    const { caller, renewed } = opened;
    return { caller, headers: renewed === undefined ? [] : this.shareCookie(browser, renewed, caller) };
  }

  /** Decides if a browser may read a site, and returns the headers that renew its proof. */
  async readerOf(
    browser: BrowserHead,
    siteId: SiteId,
  ): Promise<{ readonly mayRead: boolean; readonly headers: HeaderList }> {
    const found = await this.callerOf(browser, { mayLookUp: false, siteId });
    return {
      mayRead: found !== undefined && this.#mayRead(found.caller, siteId),
      headers: found?.headers ?? [],
    };
  }

  #viewerOf(viewToken: string): CookieCaller | undefined {
    const used = this.#options.shares.use('view', viewToken);
    if (used === undefined) return undefined;
    const { caller, renewed } = used;
    return { caller, headers: renewed === undefined ? [] : [[VIEW_TOKEN, renewed]] };
  }

  present(caller: Caller): Caller | undefined {
    const { proof } = caller;
    if (proof?.kind === 'share') return this.#options.shares.present(caller);
    return proof === undefined ? undefined : this.#options.signIns.present(proof.id);
  }

  /** The headers that give a browser the token of a sign-in. */
  signInCookie(browser: BrowserHead, token: string, caller: Caller): HeaderList {
    return this.#cookie(SIGN_IN_COOKIE, browser, token, caller);
  }

  /** The headers that give a browser the access of an opened link. */
  shareCookie(browser: BrowserHead, cookie: string, caller: Caller): HeaderList {
    return this.#cookie(SHARE_COOKIE, browser, cookie, caller);
  }

  /** The headers that let a user sign in from this browser before strangers, or nothing for other holders. */
  knownBrowserCookie(browser: BrowserHead, user: User | undefined): HeaderList {
    if (user === undefined) return [];
    const cookie = this.#options.knownBrowsers.cookieOf(user);
    return setCookie(KNOWN_BROWSER_COOKIE, cookie, { ...browser, maxAgeMs: KNOWN_BROWSER_MAX_MS });
  }

  #cookie(name: CookieName, browser: BrowserHead, value: string, { proof }: Caller): HeaderList {
    const maxAgeMs = (proof?.expiresAtMs ?? 0) - this.#options.clock.nowMs();
    return setCookie(name, value, { ...browser, maxAgeMs });
  }

  #mayRead(caller: Caller, siteId: SiteId): boolean {
    if (caller.type !== 'root') return isOwnSite(caller, siteId);
    return this.#options.accounts.site(siteId)?.teamId === caller.teamId;
  }
}
