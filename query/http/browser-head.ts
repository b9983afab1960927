import { copyText } from '../../infra/http/cut-text.ts';
import type { HeaderList } from '../../infra/http/headers.ts';
import type { RequestHead } from '../../infra/http/http.ts';
import { normalAddress, type TrustedProxies } from '../../infra/network/client-address.ts';
import { withoutTrailingSlashes } from '../../infra/network/trailing-slashes.ts';

/** The cookies of a sign-in, of an opened shared link, and of a browser in which a user signed in before. */
export const SIGN_IN_COOKIE = 'footfall-session';
export const SHARE_COOKIE = 'footfall-share';
export const KNOWN_BROWSER_COOKIE = 'footfall-browser';
const COOKIE_NAMES = [SIGN_IN_COOKIE, SHARE_COOKIE, KNOWN_BROWSER_COOKIE] as const;
export type CookieName = (typeof COOKIE_NAMES)[number];

/**
 * The header with the view token of an opened shared link, and with its successor in an answer. No browser sends it by itself, so
 * that a page in a frame of another site can have it without lending it to that site.
 */
export const VIEW_TOKEN = 'footfall-share';

/** No cookie of ours is longer, and no view token. */
const TOKEN_MAX = 1_000;

/** The browser's data besides the request itself: our cookies, and the page that caused the request. */
export interface BrowserHead {
  /** Empty when absent. */
  readonly viewToken: string;
  /** The values of our cookies; empty when absent. */
  readonly cookies: Readonly<Record<CookieName, string>>;
  /** The cookies that came without the prefix that `setCookie` gives them now. The next value replaces them. */
  readonly unprefixed: readonly CookieName[];
  /** True if the request may change something, by its method. */
  readonly isChange: boolean;
  /** The page that sent the request: one of this service, another one, or not known. */
  readonly source: 'same' | 'other' | 'unknown';
  /** True if the browser speaks TLS to the proxy in front. */
  readonly isTls: boolean;
  /** The path below which the browser sees the service, for cookies. */
  readonly path: string;
}

export interface BrowserHeadOptions {
  readonly proxies: TrustedProxies;
  /** `BASE_URL` */
  readonly baseUrl: string;
}

/** Reads the headers that browsers send. Headers that only a proxy can know are believed only from trusted proxies. */
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
    const path = (isProxied && withoutTrailingSlashes(this.#base?.pathname ?? '')) || '/';
    return {
      viewToken: viewToken.length <= TOKEN_MAX ? copyText(viewToken) : '',
      ...cookiesIn(head.header('cookie'), prefixOf({ isTls, path })),
      isChange: head.method !== 'GET' && head.method !== 'HEAD',
      source: this.#sourceOf(head, isTls),
      isTls,
      path,
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

/** The `Set-Cookie` headers that give a browser a cookie; an empty `value` removes it. */
export function setCookie(
  name: CookieName,
  value: string,
  {
    path,
    isTls,
    unprefixed,
    maxAgeMs,
  }: Pick<BrowserHead, 'path' | 'isTls' | 'unprefixed'> & { readonly maxAgeMs: number },
): HeaderList {
  const prefix = prefixOf({ isTls, path });
  const age = value === '' ? 0 : Math.max(1, Math.floor(maxAgeMs / 1_000));
  const attributes = `HttpOnly; SameSite=Strict${isTls ? '; Secure' : ''}`;
  const line = (fullName: string, text: string, seconds: number) =>
    ['set-cookie', `${fullName}=${text}; Path=${path}; Max-Age=${seconds}; ${attributes}`] as const;
  const present = line(prefix + name, value, age);
  return prefix !== '' && unprefixed.includes(name) ? [present, line(name, '', 0)] : [present];
}

/**
 * Browsers accept a name with one of these prefixes over TLS only, and not from a sister domain. `__Host-` needs the path `/`, and
 * a cookie of a service below a path must not reach its neighbours.
 */
function prefixOf({ isTls, path }: Pick<BrowserHead, 'isTls' | 'path'>): '' | '__Host-' | '__Secure-' {
  if (!isTls) return '';
  return path === '/' ? '__Host-' : '__Secure-';
}

/**
 * The first cookie of each name counts: browsers send the cookie of the longest path first. A cookie with the prefix comes before
 * one without, which was set before the names had a prefix.
 */
function cookiesIn(header: string, prefix: string): Pick<BrowserHead, 'cookies' | 'unprefixed'> {
  const cookies: Record<CookieName, string> = { ...NO_COOKIES };
  if (header === '') return { cookies, unprefixed: [] };
  const plain: Record<CookieName, string> = { ...NO_COOKIES };
  for (const pair of header.split(';')) {
    const equals = pair.indexOf('=');
    const fullName = pair.slice(0, equals).trim();
    const isPrefixed = prefix !== '' && fullName.startsWith(prefix);
    const name = isPrefixed ? fullName.slice(prefix.length) : fullName;
    if (!isCookieName(name)) continue;
    const value = pair.slice(equals + 1).trim();
    const found = isPrefixed || prefix === '' ? cookies : plain;
    if (found[name] === '' && value.length <= TOKEN_MAX) found[name] = copyText(value);
  }
  const unprefixed = COOKIE_NAMES.filter((name) => plain[name] !== '');
  for (const name of unprefixed) cookies[name] ||= plain[name];
  return { cookies, unprefixed };
}

const NO_COOKIES: Readonly<Record<CookieName, string>> = {
  [SIGN_IN_COOKIE]: '',
  [SHARE_COOKIE]: '',
  [KNOWN_BROWSER_COOKIE]: '',
};

function isCookieName(name: string): name is CookieName {
  return (COOKIE_NAMES as readonly string[]).includes(name);
}
