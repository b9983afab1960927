import { isIP } from 'node:net';
import { assert } from '../assert.ts';
import { BucketError } from './bucket-error.ts';

/** Where a bucket's requests go. */
export interface BucketAddress {
  readonly protocol: 'http:' | 'https:';
  /** A name or an address; an IPv6 one without brackets. */
  readonly hostname: string;
  readonly port: number;
  /** As the header `Host` has it, and the signature. */
  readonly host: string;
  /** What stands before a key: the bucket's name, or nothing. Without a slash at its end. */
  readonly path: string;
}

interface BucketNames {
  readonly endpoint: string | null;
  readonly region: string;
  readonly bucket: string;
  readonly pathStyle: boolean;
}

const REGION = /^[a-z0-9-]{1,32}$/;
const BUCKET = /^(?!\.+$)[\w.-]{1,255}$/;
const BUCKET_IN_HOST = /^[a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?$/;

/**
 * Finds the place of a bucket. Over https a bucket whose name has a dot goes into the path, whatever was asked for: no
 * certificate of the storage covers a host of two more labels.
 * @throws {BucketError} failed, with what is wrong with the endpoint, the region or the bucket's name
 */
export function bucketAddress({ endpoint, region, bucket, pathStyle }: BucketNames): BucketAddress {
  if (!REGION.test(region)) throw wrong('the region is no region');
  if (!BUCKET.test(bucket)) throw wrong('the name of the bucket cannot be one');
  const url = endpointUrl(
    endpoint ?? `https://s3.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`,
  );
  const protocol = url.protocol === 'https:' ? 'https:' : 'http:';
  const isInPath = pathStyle || (protocol === 'https:' && bucket.includes('.'));
  const name = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (!isInPath && isIP(name) !== 0) throw wrong('an endpoint that is an address needs the path style');
  if (!isInPath && !BUCKET_IN_HOST.test(bucket)) throw wrong('a bucket of such a name needs the path style');
  const beforeHost = isInPath ? '' : `${bucket}.`;
  return {
    protocol,
    hostname: beforeHost + name,
    port: Number(url.port || (protocol === 'https:' ? 443 : 80)),
    host: beforeHost + url.host,
    path: isInPath ? `/${encodeUri(bucket)}` : '',
  };
}

/**
 * The path of an object. Every key of S3 can be named, except those with a segment `.` or `..`: what stands between us and
 * the storage may take these out of a path.
 */
export function objectPath(place: BucketAddress, key: string): string {
  assert(key !== '', 'an object has a key');
  const segments = key.split('/');
  assert(!segments.some((segment) => segment === '.' || segment === '..'), 'a key has no segment . or ..');
  return `${place.path}/${segments.map(encodeUri).join('/')}`;
}

/** Encodes as signatures want it: everything but letters, digits, `-`, `_`, `.` and `~`. */
export function encodeUri(text: string): string {
  assert(!/\p{Cs}/u.test(text), 'a key is well-formed Unicode');
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Names are read as browsers do, so that every spelling of an address becomes the address itself. */
function endpointUrl(text: string): URL {
  if (!URL.canParse(text)) throw wrong('the endpoint is no address');
  const url = new URL(text);
  const isBare =
    url.username === '' &&
    url.password === '' &&
    url.pathname === '/' &&
    url.search === '' &&
    url.hash === '';
  if (!/^https?:$/.test(url.protocol) || url.hostname === '') {
    throw wrong('the endpoint does not begin with http:// or https://');
  }
  if (!isBare) throw wrong('the endpoint has more than a host and a port');
  return url;
}

function wrong(message: string): BucketError {
  return new BucketError('failed', message);
}
