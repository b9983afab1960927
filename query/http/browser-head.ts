import { copyText } from '../../infra/http/cut-text.ts';
import type { RequestHead } from '../../infra/http/http.ts';
import { normalAddress, type TrustedProxies } from '../../infra/network/client-address.ts';

/** The cookie of a sign-in, and that of an opened shared link. */
export const SIGN_IN_COOKIE = 'footfall-session';
export const SHARE_COOKIE = 'footfall-share';
export type CookieName = typeof SIGN_IN_COOKIE | typeof SHARE_COOKIE;

/**
 * The header with the view token of an opened shared link, and with its successor in an answer. No browser sends it by itself, so
 * that a page in a frame of another site can have it without lending it to that site.
 */
export const VIEW_TOKEN = 'footfall-share';

/** No cookie of ours is longer, and no view token. */
const TOKEN_MAX = 1_000;

/** What a browser sends beside the request itself: our cookies, and which page made it send the request. */
export interface BrowserHead {
  /** Empty when absent. */
  readonly viewToken: string;
  /** The values of our cookies; empty when absent. */
  readonly cookies: Readonly<Record<CookieName, string>>;
  /** Whether the request may change something, by its method. */
  readonly isChange: boolean;
  /** The page that sent the request: one of this service, another one, or not known. */
  readonly source: 'same' | 'other' | 'unknown';
  /** Whether the browser speaks TLS to the proxy in front. */
  readonly isTls: boolean;
  /** The path below which the browser sees the service, for cookies. */
  readonly path: string;
}

export interface BrowserHeadOptions {
  readonly proxies: TrustedProxies;
  /** `BASE_URL` */
  readonly baseUrl: string;
}

/** Reads what browsers send. What only a proxy can know is believed of trusted ones. */
export class BrowserHeads {
  readonly #proxies: TrustedProxies;
  readonly #base: URL | undefined;

  constructor({ proxies, baseUrl }: BrowserHeadOptions) {
    this.#proxies = proxies;
    this.#base = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  }

  read(head: RequestHead): BrowserHead {
    const isProxied = this.#proxies.any && this.#proxies.trusts(normalAddress(head.remoteAddress()));
    const isTls = isProxied && this.#isTls(head.header('x-forwarded-proto'));
    const viewToken = head.header(VIEW_TOKEN);
    return {
      viewToken: viewToken.length <= TOKEN_MAX ? copyText(viewToken) : '',
      cookies: cookiesIn(head.header('cookie')),
      isChange: head.method !== 'GET' && head.method !== 'HEAD',
      source: this.#sourceOf(head, isTls),
      isTls,
      path: (isProxied && this.#base?.pathname.replace(/\/+$/, '')) || '/',
    };
  }

  /** The first proxy in the list is the one that the browser speaks to. */
  #isTls(forwardedProtocols: string): boolean {
    const [protocol = ''] = forwardedProtocols.split(',', 1);
    return protocol === '' ? this.#base?.protocol === 'https:' : protocol.trim().toLowerCase() === 'https';
  }

  /** Browsers say it themselves over TLS; over plain HTTP the origin has to be compared. */
  #sourceOf(head: RequestHead, isTls: boolean): BrowserHead['source'] {
    const site = head.header('sec-fetch-site');
    // `none`: the person typed the address.
    if (site === 'none') return 'unknown';
    if (site !== '') return site === 'same-origin' ? 'same' : 'other';
    const text = head.header('origin');
    if (text === '') return 'unknown';
    if (!URL.canParse(text)) return 'other';
    const origin = new URL(text);
    if (origin.origin === this.#base?.origin) return 'same';
    const isSecure = origin.protocol === 'https:' || !isTls;
    return isSecure && origin.host === head.header('host').toLowerCase() ? 'same' : 'other';
  }
}

/** The value of a `Set-Cookie` header; an empty `value` removes the cookie. */
export function setCookie(
  name: CookieName,
  value: string,
  { path, isTls, maxAgeMs }: Pick<BrowserHead, 'path' | 'isTls'> & { readonly maxAgeMs: number },
): readonly [name: string, value: string] {
  const age = value === '' ? 0 : Math.max(1, Math.floor(maxAgeMs / 1_000));
  const secure = isTls ? '; Secure' : '';
  return ['set-cookie', `${name}=${value}; Path=${path}; Max-Age=${age}; HttpOnly; SameSite=Strict${secure}`];
}

/** The first cookie of each name counts: browsers send that of the longest path first. */
function cookiesIn(header: string): BrowserHead['cookies'] {
  const found: Record<CookieName, string> = { [SIGN_IN_COOKIE]: '', [SHARE_COOKIE]: '' };
  if (header === '') return found;
  for (const pair of header.split(';')) {
    const equals = pair.indexOf('=');
    const name = pair.slice(0, equals).trim();
    if (name !== SIGN_IN_COOKIE && name !== SHARE_COOKIE) continue;
    const value = pair.slice(equals + 1).trim();
    if (found[name] === '' && value.length <= TOKEN_MAX) found[name] = copyText(value);
  }
  return found;
}
