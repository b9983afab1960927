/** Encodings of a body that the service sends, the best first. */
export const ENCODINGS = ['br', 'gzip', 'identity'] as const;
export type Encoding = (typeof ENCODINGS)[number];

const QUALITY = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;

/**
 * The encoding for a client with this Accept-Encoding header (RFC 9110, 12.5.3): the preferred one, and among equal
 * ones the smaller. `*` means gzip, which every decoder knows, unless the header rules it out. A client that rules out
 * everything gets the body without encoding.
 */
export function encodingFor(acceptEncoding: string): Encoding {
  if (acceptEncoding === '') return 'identity';
  const qualities = qualitiesIn(acceptEncoding);
  const others = qualities.get('*') ?? 0;
  const gzip = qualities.get('gzip') ?? qualities.get('x-gzip') ?? others;
  const br = qualities.get('br') ?? (gzip === 0 ? others : 0);
  const best = Math.max(br, gzip);
  // Without being named, an unencoded body is acceptable but not preferred.
  if (best === 0 || best < (qualities.get('identity') ?? 0)) return 'identity';
  return br === best ? 'br' : 'gzip';
}

/** The tag of an encoding of a body: other bytes, so another tag (`"7"` is `"7-gzip"`). */
export function encodedTag(etag: string, encoding: Encoding): string {
  return encoding === 'identity' ? etag : etag.replace(/"$/, `-${encoding}"`);
}

/** A list of tags in the form of `If-Match`, without the marks of encodings: each tag then means the body in any encoding. */
export function withoutEncoding(tags: string): string {
  return tags.replace(/-(?:br|gzip)"/g, '"');
}

/** The quality of each encoding, 0 to 1. Parts that are not well-formed are left out. */
function qualitiesIn(acceptEncoding: string): ReadonlyMap<string, number> {
  const qualities = new Map<string, number>();
  for (const part of acceptEncoding.toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim());
    const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1';
    if (name !== '' && QUALITY.test(quality)) qualities.set(name, Number(quality));
  }
  return qualities;
}
