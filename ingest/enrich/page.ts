import { cutText } from '../../infra/http/cut-text.ts';

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

/** What the hash of an address names: a section of a page, or, by the site's setting `hashChanges`, a page of its own. */
export type HashNames = 'section' | 'page';

/**
 * Splits a URL or a path. Only campaign values are decoded; a web URL that no browser accepts is used as a path. Where the
 * hash names a page, it is part of the path, and its own query belongs to the page's.
 */
export function pageOf(text: string, hashNames: HashNames = 'section'): Page {
  if (text === '') return NO_PAGE;
  const { origin, host, rest } = originOf(text);
  const address = split(rest);
  const { path, query, hash } = hashNames === 'page' ? withHashPage(address) : address;
  const campaign = campaignOf(query);
  return {
    origin: cut(origin, PAGE_LIMITS.origin),
    host,
    path: cut(path, PAGE_LIMITS.path),
    query: cut(query, PAGE_LIMITS.query),
    hash: cut(hash, PAGE_LIMITS.hash),
    ...campaign,
  };
}

export type Campaign = Pick<Page, 'utmSource' | 'utmMedium' | 'utmCampaign' | 'utmTerm' | 'utmContent'>;

const NO_CAMPAIGN: Campaign = { utmSource: '', utmMedium: '', utmCampaign: '', utmTerm: '', utmContent: '' };

/** The campaign that a query names. Names may be written in any case; of several values the first one counts. */
export function campaignOf(query: string): Campaign {
  if (query.length < 2) return NO_CAMPAIGN;
  const values = new Map<string, string>();
  for (const [written, value] of new URLSearchParams(query)) {
    const name = written.toLowerCase();
    if (!values.has(name) && value.trim() !== '') values.set(name, value.trim());
  }
  const named = (name: string) => cut(values.get(name) ?? '', PAGE_LIMITS.utm);
  return {
    utmSource: named('utm_source') || named('ref') || named('source'),
    utmMedium: named('utm_medium'),
    utmCampaign: named('utm_campaign'),
    utmTerm: named('utm_term'),
    utmContent: named('utm_content'),
  };
}

/**
 * A web URL whose host is a plain name: the parser of URLs would only put it into lower case. Two hyphens in a row may begin
 * a name that it rejects, and a last label with digits may be an address.
 */
const PLAIN_HOST = /^https?:\/\/((?:[a-z0-9]+(?:-[a-z0-9]+)*\.)+[a-z]{2,})(?:[/?#]|$)/i;

/** The host of a web URL without `www.`; empty when `text` is none. */
export function hostOf(text: string): string {
  const plain = PLAIN_HOST.exec(text)?.[1];
  // The parser takes 2 µs, for every referrer that comes.
  if (plain !== undefined) return bareHost(plain.toLowerCase());
  const url = /^https?:\/\//i.test(text) ? urlOf(text) : null;
  return url === null ? '' : bareHost(url.hostname);
}

/** The first `max` characters, without splitting a surrogate pair; a copy that does not retain a long text. */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  const last = text.charCodeAt(max - 1);
  return cutText(text, last >= 0xd800 && last < 0xdc00 ? max - 1 : max);
}

function urlOf(text: string): URL | null {
  return URL.canParse(text) ? new URL(text) : null;
}

function bareHost(hostname: string): string {
  return hostname.startsWith('www.') ? hostname.slice(4) : hostname;
}

interface Origin {
  readonly origin: string;
  /** As `Page.host`; empty for an app, whose pages have none. */
  readonly host: string;
  /** What follows the origin. */
  readonly rest: string;
}

function originOf(text: string): Origin {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text)?.[1]?.toLowerCase();
  if (scheme === undefined) return { origin: '', host: '', rest: text };
  if (scheme !== 'http' && scheme !== 'https') return appOriginOf(scheme, text.slice(scheme.length + 3));
  const url = urlOf(text);
  if (url === null) return { origin: '', host: '', rest: text };
  return { origin: url.origin, host: bareHost(url.hostname), rest: behindHost(text) };
}

/**
 * An app's own scheme has no hosts: `app://settings/x` is its page `/settings/x`. Only web views on `localhost`, browser
 * extensions and apps by their package have one, and `.` stands for none.
 */
function appOriginOf(scheme: string, behind: string): Origin {
  const host = /^[^/?#]*/.exec(behind)?.[0].toLowerCase() ?? '';
  const isHost = /^localhost(?::\d+)?$/.test(host) || /-(?:extension|app)$/.test(scheme);
  const rest = isHost || host === '.' ? behind.slice(host.length) : behind;
  return { origin: `${scheme}://${isHost ? host : ''}`, host: '', rest };
}

function behindHost(text: string): string {
  const start = text.indexOf('://') + 3;
  const length = text.slice(start).search(/[/?#]/);
  return length < 0 ? '/' : text.slice(start + length);
}

interface Address {
  readonly path: string;
  readonly query: string;
  readonly hash: string;
}

/** The address of a page that its hash names: `#/inbox?tab=2` is the page `#/inbox` with the query `?tab=2`. */
function withHashPage({ path, query, hash: sent }: Address): Address {
  // Browsers add a directive that selects text in the page; it names nothing.
  const [shown = ''] = sent.split(':~:', 1);
  const hash = shown === '#' ? '' : shown;
  const isCampaign = /^#(?:[^/?]*&)?utm_\w+=/i.test(hash);
  const queryAt = isCampaign ? 0 : hash.indexOf('?');
  const name = queryAt < 0 ? hash : hash.slice(0, queryAt);
  const ownQuery = queryAt < 0 ? '' : hash.slice(queryAt + 1);
  return {
    path: name === '#' ? path : path + name,
    query: ownQuery === '' ? query : `${query.length > 1 ? `${query}&` : '?'}${ownQuery}`,
    hash,
  };
}

function split(text: string): Address {
  const hashAt = text.indexOf('#');
  const hash = hashAt < 0 ? '' : text.slice(hashAt);
  const before = hashAt < 0 ? text : text.slice(0, hashAt);
  const queryAt = before.indexOf('?');
  const query = queryAt < 0 ? '' : before.slice(queryAt);
  const path = queryAt < 0 ? before : before.slice(0, queryAt);
  // Paths start with a slash, so that `pricing` and `/pricing` are one page.
  return { path: path.startsWith('/') ? path : `/${path}`, query, hash };
}
