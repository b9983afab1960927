import { cutText } from '../../infra/http/cut-text.ts';

/** Maximum characters of a page's texts; longer ones are cut. */
export const PAGE_LIMITS = { origin: 256, path: 2048, query: 2048, hash: 512, title: 512, utm: 256 } as const;

/** Characters that are read to find a host. A longer host is cut, and so belongs to no site. */
const HOST_READ_MAX = 1024;
/** A hash may name a page with a query of its own. */
const HASH_PAGE_MAX = PAGE_LIMITS.path + PAGE_LIMITS.query;

/** The parts of an event's path. Texts; empty when absent. */
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

/** The meaning of an address's hash: a section of a page, or, by the site's setting `hashChanges`, a page of its own. */
export type HashNames = 'section' | 'page';

/**
 * Splits a URL or a path. Only campaign values are decoded; a web URL that no browser accepts is used as a path. Where the
 * hash names a page, it is part of the path, and its own query belongs to the page's.
 */
export function pageOf(text: string, hashNames: HashNames = 'section'): Page {
  if (text === '') return NO_PAGE;
  const { origin, host, rest } = originOf(text);
  const address = split(rest);
  const { path, query: sent, hash } = hashNames === 'page' ? withHashPage(address) : address;
  const query = cut(sent, PAGE_LIMITS.query);
  return {
    origin: cut(origin, PAGE_LIMITS.origin),
    host: cut(host, HOST_READ_MAX),
    path: cut(path, PAGE_LIMITS.path),
    query,
    hash: cut(hash, PAGE_LIMITS.hash),
    ...campaignOf(query),
  };
}

export type Campaign = Pick<Page, 'utmSource' | 'utmMedium' | 'utmCampaign' | 'utmTerm' | 'utmContent'>;

const NO_CAMPAIGN: Campaign = { utmSource: '', utmMedium: '', utmCampaign: '', utmTerm: '', utmContent: '' };

const CAMPAIGN_NAMES: ReadonlySet<string> = new Set([
  'utm_source',
  'utm_medium',
  'utm_campaign',
  'utm_term',
  'utm_content',
  'ref',
  'source',
]);

/**
 * The campaign that a query with its `?` names. Names may be written in any case; of several values the first one counts. `URLSearchParams`
 * reads the same, but throws inside for each broken escape, which made a query of 2 KB cost 6 ms.
 */
export function campaignOf(query: string): Campaign {
  if (query.length < 2) return NO_CAMPAIGN;
  const values = new Map<string, string>();
  for (const pair of query.slice(1, PAGE_LIMITS.query).split('&')) {
    const equals = pair.indexOf('=');
    if (equals < 0) continue;
    const name = formDecoded(pair.slice(0, equals)).toLowerCase();
    if (!CAMPAIGN_NAMES.has(name) || values.has(name)) continue;
    const value = formDecoded(pair.slice(equals + 1)).trim();
    if (value !== '') values.set(name, value);
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

/** A name or value of a query as text, in linear time; a broken escape is unchanged. */
function formDecoded(text: string): string {
  const spaced = text.replaceAll('+', ' ');
  if (!spaced.includes('%')) return spaced;
  const bytes = Buffer.from(spaced);
  let length = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    const high = byte === PERCENT ? hexOf(bytes[at + 1]) : -1;
    const low = high < 0 ? -1 : hexOf(bytes[at + 2]);
    bytes[length] = low < 0 ? byte : 16 * high + low;
    length += 1;
    if (low >= 0) at += 2;
  }
  return bytes.toString('utf8', 0, length);
}

const PERCENT = 37;

/** The value of a hexadecimal digit; -1 for anything else. */
function hexOf(byte = 0): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const letter = byte | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}

/**
 * A web URL whose host is a plain name: the parser of URLs would only put it into lower case. Two hyphens in a row may begin
 * a name that it rejects, and a last label with digits may be an address.
 */
const PLAIN_HOST = /^https?:\/\/((?:[a-z0-9]+(?:-[a-z0-9]+)*\.)+[a-z]{2,})(?:[/?#]|$)/i;

/** The host of a web URL without `www.`; empty when `text` is none. */
export function hostOf(text: string): string {
  const begin = text.slice(0, HOST_READ_MAX);
  const plain = PLAIN_HOST.exec(begin)?.[1];
  // The parser takes 2 µs, for every referrer that comes.
  if (plain !== undefined) return bareHost(plain.toLowerCase());
  const url = /^https?:\/\//i.test(begin) ? urlOf(begin) : null;
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
  /** Like `Page.host`; empty for an app, whose pages have none. */
  readonly host: string;
  /** The text after the origin. */
  readonly rest: string;
}

function originOf(text: string): Origin {
  const begin = text.slice(0, HOST_READ_MAX);
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(begin)?.[1]?.toLowerCase();
  if (scheme === undefined) return { origin: '', host: '', rest: text };
  if (scheme !== 'http' && scheme !== 'https') return appOriginOf(scheme, text.slice(scheme.length + 3));
  const url = urlOf(begin);
  if (url === null) return { origin: '', host: '', rest: text };
  return { origin: url.origin, host: bareHost(url.hostname), rest: behindHost(text) };
}

/**
 * An app's own scheme has no hosts: `app://settings/x` is its page `/settings/x`. Only web views on `localhost`, browser extensions and
 * apps by their package have one, and `.` means none.
 */
function appOriginOf(scheme: string, behind: string): Origin {
  const host = /^[^/?#]*/.exec(behind.slice(0, HOST_READ_MAX))?.[0].toLowerCase() ?? '';
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
  return {
    path: cut(path.startsWith('/') ? path : `/${path}`, PAGE_LIMITS.path),
    query: cut(query, PAGE_LIMITS.query),
    hash: cut(hash, HASH_PAGE_MAX),
  };
}
