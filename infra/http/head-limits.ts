import { unreachable } from '../assert.ts';
import { cutText } from './cut-text.ts';

/** The longest path, query and headers, together. Longer ones are answered 431. */
export const HEAD_MAX_BYTES = 65_536;

/**
 * The longest value of every header that the service reads, checked before anything reads it. The limits are far above the values of
 * browsers, SDKs and proxies. A header that is not read has no limit of its own, only the limit of the whole head.
 *
 * - `reject`: 400, for a value whose absence or beginning would mean something else.
 * - `ignore`: counts as absent.
 * - `cut`: only the beginning is read.
 */
export interface HeaderLimit {
  readonly charactersMax: number;
  readonly beyond: 'reject' | 'ignore' | 'cut';
}

/** No limit is lower, so shorter values need no look at the table. */
export const ALWAYS_FITS = 256;

const limit = (charactersMax: number, beyond: HeaderLimit['beyond']): HeaderLimit => ({
  charactersMax,
  beyond,
});
const CLIENT = {
  'client-id': limit(256, 'reject'),
  'client-secret': limit(256, 'reject'),
  'client-ip': limit(256, 'ignore'),
  'sdk-name': limit(256, 'cut'),
  'sdk-version': limit(256, 'cut'),
};
/** The line of a proxy in front of many others has some hundred characters. */
const FORWARDED = limit(8_192, 'reject');

export const HEADER_LIMITS: Readonly<Record<string, HeaderLimit>> = {
  'accept-encoding': limit(1_024, 'cut'),
  'accept-language': limit(1_024, 'cut'),
  authorization: limit(4_096, 'ignore'),
  'cf-connecting-ip': FORWARDED,
  'content-length': limit(256, 'reject'),
  'content-type': limit(1_024, 'cut'),
  // Cookies of other programs on the same name come along, and browsers hold 180 of 4 KB.
  cookie: limit(32_768, 'cut'),
  'footfall-share': limit(1_024, 'ignore'),
  forwarded: FORWARDED,
  host: limit(1_024, 'reject'),
  'idempotency-key': limit(256, 'reject'),
  'if-match': limit(4_096, 'reject'),
  'if-none-match': limit(4_096, 'ignore'),
  origin: limit(2_048, 'reject'),
  // Browsers send 4,096 at most; only the origin of the page is read.
  referer: limit(4_096, 'cut'),
  'sec-ch-ua': limit(1_024, 'cut'),
  'sec-ch-ua-full-version-list': limit(1_024, 'cut'),
  'sec-ch-ua-mobile': limit(256, 'cut'),
  'sec-ch-ua-model': limit(256, 'cut'),
  'sec-ch-ua-platform': limit(256, 'cut'),
  'sec-ch-ua-platform-version': limit(256, 'cut'),
  'sec-fetch-site': limit(256, 'cut'),
  'sec-websocket-extensions': limit(1_024, 'reject'),
  'sec-websocket-key': limit(256, 'reject'),
  'transfer-encoding': limit(256, 'reject'),
  'true-client-ip': FORWARDED,
  'user-agent': limit(4_096, 'cut'),
  via: limit(8_192, 'cut'),
  'x-forwarded-for': FORWARDED,
  'x-forwarded-host': limit(1_024, 'cut'),
  'x-forwarded-proto': limit(256, 'cut'),
  'x-real-ip': FORWARDED,
  ...prefixed('service-', CLIENT),
  ...prefixed('openpanel-', CLIENT),
};

/** All lines of a header with the sender's address together; of longer ones the end is read, which trusted proxies wrote. */
export const FORWARDED_MAX_CHARACTERS = FORWARDED.charactersMax;

/** A header's value to read; undefined if the request is rejected for it. */
export function limitedHeader(name: string, value: string): string | undefined {
  const known = Object.hasOwn(HEADER_LIMITS, name) ? HEADER_LIMITS[name] : undefined;
  if (known === undefined || value.length <= known.charactersMax) return value;
  switch (known.beyond) {
    case 'reject':
      return undefined;
    case 'ignore':
      return '';
    case 'cut':
      return cutText(value, known.charactersMax);
    default:
      return unreachable(known.beyond);
  }
}

/** Maximum length of a path. A name in it, percent-encoded, may be three times as long as the text. */
export const PATH_MAX_CHARACTERS = 8_192;

/** A query string of a route that takes a few short parameters. */
export const SHORT_QUERY_MAX_CHARACTERS = 4_096;

/** The problem of a short query string; undefined for a sound one. */
export function longQuery(query: string): string | undefined {
  return query.length > SHORT_QUERY_MAX_CHARACTERS
    ? `query: expected at most ${SHORT_QUERY_MAX_CHARACTERS} characters`
    : undefined;
}

function prefixed(
  prefix: string,
  limits: Readonly<Record<string, HeaderLimit>>,
): Record<string, HeaderLimit> {
  return Object.fromEntries(Object.entries(limits).map(([name, one]) => [prefix + name, one]));
}
