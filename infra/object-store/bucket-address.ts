import { isIP } from 'node:net';
import { assert } from '../assert.ts';
import { BucketError } from './bucket-error.ts';

/** The destination of requests for a bucket. */
export interface BucketAddress {
  readonly protocol: 'http:' | 'https:';
  /** A name or an IP address; IPv6 without brackets. */
  readonly hostname: string;
  readonly port: number;
  /** The value of the `Host` header, which the signature covers. */
  readonly host: string;
  /** The path in front of a key: the bucket's name or nothing, without a slash at its end. */
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
 * Finds the address of a bucket. Over https a bucket whose name has a dot always goes into the path, because the storage's certificate does
 * not cover a host with more labels.
 * @throws {BucketError} failed, with the problem of the endpoint, the region or the bucket's name
 */
export function bucketAddress({ endpoint, region, bucket, pathStyle }: BucketNames): BucketAddress {
  if (!REGION.test(region)) throw wrong('the region is not valid');
  if (!BUCKET.test(bucket)) throw wrong('the bucket name is not valid');
  const url = endpointUrl(
    endpoint ?? `https://s3.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`,
  );
  const protocol = url.protocol === 'https:' ? 'https:' : 'http:';
  const isInPath = pathStyle || (protocol === 'https:' && bucket.includes('.'));
  const name = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (!isInPath && isIP(name) !== 0) throw wrong('an endpoint that is an IP address needs the path style');
  if (!isInPath && !BUCKET_IN_HOST.test(bucket)) throw wrong('this bucket name needs the path style');
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
 * The path of an object. Keys with a segment `.` or `..` are not allowed, because a proxy in front of the storage may
 * remove such segments from the path.
 */
export function objectPath(address: BucketAddress, key: string): string {
  assert(key !== '', 'an object has a key');
  const segments = key.split('/');
  assert(!segments.some((segment) => segment === '.' || segment === '..'), 'a key has no segment . or ..');
  return `${address.path}/${segments.map(encodeUri).join('/')}`;
}

/** Encodes as signatures require: everything except letters, digits, `-`, `_`, `.` and `~`. */
export function encodeUri(text: string): string {
  assert(!/\p{Cs}/u.test(text), 'a key is well-formed Unicode');
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Parses the endpoint as browsers do, so that every spelling of an IP address becomes its canonical form. */
function endpointUrl(text: string): URL {
  if (!URL.canParse(text)) throw wrong('the endpoint is not a URL');
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
