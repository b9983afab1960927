/** Maximum characters of a page's texts; longer ones are cut. */
export const PAGE_LIMITS = { origin: 256, path: 2048, query: 2048, hash: 512, title: 512, utm: 256 } as const;

/** What the path of an event says. Texts; empty when absent. */
export interface Page {
  /** Scheme, host and port; empty when only a path was sent. */
  readonly origin: string;
  /** The host without `www.`, in lower case. */
  readonly host: string;
  readonly path: string;
  /** With its `?`. */
  readonly query: string;
  /** With its `#`. */
  readonly hash: string;
  readonly utmSource: string;
  readonly utmMedium: string;
  readonly utmCampaign: string;
  readonly utmTerm: string;
  readonly utmContent: string;
}

const NO_PAGE: Page = {
  origin: '',
  host: '',
  path: '',
  query: '',
  hash: '',
  utmSource: '',
  utmMedium: '',
  utmCampaign: '',
  utmTerm: '',
  utmContent: '',
};

const NO_CAMPAIGN = new URLSearchParams();

/** Splits a URL or a path. Only campaign values are decoded; a URL that no browser accepts is used as a path. */
export function pageOf(text: string): Page {
  if (text === '') return NO_PAGE;
  const absolute = /^https?:\/\//i.test(text) ? urlOf(text) : null;
  const { path, query, hash } = split(absolute === null ? text : behindHost(text));
  const campaign = query === '' ? NO_CAMPAIGN : new URLSearchParams(query);
  const named = (name: string) => cut(campaign.get(name)?.trim() ?? '', PAGE_LIMITS.utm);
  return {
    origin: absolute === null ? '' : cut(absolute.origin, PAGE_LIMITS.origin),
    host: absolute === null ? '' : bareHost(absolute.hostname),
    path: cut(path, PAGE_LIMITS.path),
    query: cut(query, PAGE_LIMITS.query),
    hash: cut(hash, PAGE_LIMITS.hash),
    utmSource: named('utm_source') || named('ref') || named('source'),
    utmMedium: named('utm_medium'),
    utmCampaign: named('utm_campaign'),
    utmTerm: named('utm_term'),
    utmContent: named('utm_content'),
  };
}

/** The host of a web URL without `www.`; empty when `text` is none. */
export function hostOf(text: string): string {
  const url = /^https?:\/\//i.test(text) ? urlOf(text) : null;
  return url === null ? '' : bareHost(url.hostname);
}

/** The first `max` characters, without splitting a surrogate pair. */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  const last = text.charCodeAt(max - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? max - 1 : max);
}

function urlOf(text: string): URL | null {
  return URL.canParse(text) ? new URL(text) : null;
}

function bareHost(hostname: string): string {
  return hostname.startsWith('www.') ? hostname.slice(4) : hostname;
}

function behindHost(text: string): string {
  const start = text.indexOf('://') + 3;
  const length = text.slice(start).search(/[/?#]/);
  return length < 0 ? '/' : text.slice(start + length);
}

function split(text: string): { path: string; query: string; hash: string } {
  const hashAt = text.indexOf('#');
  const hash = hashAt < 0 ? '' : text.slice(hashAt);
  const before = hashAt < 0 ? text : text.slice(0, hashAt);
  const queryAt = before.indexOf('?');
  const query = queryAt < 0 ? '' : before.slice(queryAt);
  const path = queryAt < 0 ? before : before.slice(0, queryAt);
  // Paths start with a slash, so that `pricing` and `/pricing` are one page.
  return { path: path.startsWith('/') ? path : `/${path}`, query, hash };
}
