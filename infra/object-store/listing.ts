/** An object as a storage lists it. */
export interface ListedObject {
  readonly key: string;
  /** Undefined when the storage does not say it. */
  readonly bytes: number | undefined;
}

/** One page of ListObjectsV2. */
export interface ListedPage {
  readonly objects: readonly ListedObject[];
  /** The continuation token of the next page; undefined on the last page. */
  readonly next: string | undefined;
}

// The element of one object in the listing.
const OBJECT = '<Contents>';
const OBJECT_END = '</Contents>';
const SIZE = /^\d{1,15}$/;

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ['lt', '<'],
  ['gt', '>'],
  ['amp', '&'],
  ['quot', '"'],
  ['apos', "'"],
]);

/**
 * Reads a page of at most `keysMax` keys. The few elements needed are found by name: they hold text only, and text
 * cannot contain a `<`. Each character is visited a small, fixed number of times, whatever the storage sends. Undefined
 * when this is not such a page, or has a key that cannot be read.
 */
export function readListing(xml: string, keysMax: number): ListedPage | undefined {
  if (!xml.includes('<ListBucketResult')) return undefined;
  const isEncoded = textOf(xml, 'EncodingType') === 'url';
  const objects: ListedObject[] = [];
  for (let start = xml.indexOf(OBJECT); start !== -1; ) {
    const end = xml.indexOf(OBJECT_END, start);
    const element = end === -1 ? '' : xml.slice(start, end);
    const key = keyOf(textOf(element, 'Key'), isEncoded);
    if (key === undefined || objects.length === keysMax) return undefined;
    const size = textOf(element, 'Size')?.trim() ?? '';
    objects.push({ key, bytes: SIZE.test(size) ? Number(size) : undefined });
    start = xml.indexOf(OBJECT, end);
  }
  const isTruncated = textOf(xml, 'IsTruncated') === 'true';
  const next = textOf(xml, 'NextContinuationToken');
  // The page is truncated, but empty or without a continuation token.
  if (isTruncated && (objects.length === 0 || next === undefined || next === '')) return undefined;
  return { objects, next: isTruncated ? next : undefined };
}

/** The text of the first element with this name. */
export function textOf(xml: string, name: string): string | undefined {
  const opening = `<${name}>`;
  const start = xml.indexOf(opening);
  const end = start === -1 ? -1 : xml.indexOf('<', start + opening.length);
  return end === -1 ? undefined : withoutEntities(xml.slice(start + opening.length, end));
}

/** The text of a key as XML has it, or URL-encoded. Undefined where it cannot be read. */
export function keyOf(text: string | undefined, isEncoded: boolean): string | undefined {
  if (text === undefined || !isEncoded) return text;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined; // Not valid URL encoding.
  }
}

function withoutEntities(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w+));/gi, (whole, hex, decimal, name) => {
    const point = hex ? Number.parseInt(hex, 16) : Number(decimal ?? Number.NaN);
    if (point <= 0x10ffff) return String.fromCodePoint(point);
    return ENTITIES.get(String(name)) ?? whole;
  });
}
