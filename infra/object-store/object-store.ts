import http from 'node:http';
import https from 'node:https';
import type { LookupFunction } from 'node:net';
import { AwsV4Signer } from 'aws4fetch';
import { type BucketAddress, bucketAddress, encodeUri, objectPath } from './bucket-address.ts';
import { BucketError } from './bucket-error.ts';
import { digestsOf } from './digests.ts';
import { codeOf, reject } from './error-answer.ts';
import { type Answer, exchange, isSuccessful, type SignedRequest } from './exchange.ts';
import { guardedLookup, judgeLiteral, type Resolve } from './guarded-lookup.ts';
import { readListing } from './listing.ts';

export { BUCKET_FAILURES, BucketError, type BucketFailure } from './bucket-error.ts';

/** How a bucket is reached. */
export interface BucketAccess {
  /** `http://` or `https://`, a host and perhaps a port, nothing more. Null: Amazon's own of the region. */
  readonly endpoint: string | null;
  readonly region: string;
  readonly bucket: string;
  /** The bucket's name is part of the path, not of the host. */
  readonly pathStyle: boolean;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export interface ObjectStoreOptions {
  readonly access: BucketAccess;
  /** Asked for every address before a connection to it is opened; see infra/network/public-address.ts. */
  readonly mayConnect: (address: string) => boolean;
  /** Longest time of one request, from the connection to the end of the answer. */
  readonly timeoutMs: number;
  /** How names become addresses; the system's way unless given. */
  readonly resolve?: Resolve;
}

interface Asked {
  readonly method: SignedRequest['method'];
  /** Encoded, as is what follows. */
  readonly path: string;
  readonly query?: string;
  readonly body?: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  /** Of a successful answer; what is longer is not read. */
  readonly answerMaxBytes?: number;
}

/** What a header can hold, and a signature tell apart. */
const KEY_ID = /^[\x21-\x2b\x2d-\x7e]{1,1024}$/;
const CONNECTIONS_MAX = 8;
// Below what storages close idle connections after.
const IDLE_SOCKET_MS = 5000;
const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
/** What S3 lists at once, and room for as many keys of the longest kind, encoded. */
const PAGE_KEYS = 1000;
const PAGE_MAX_BYTES = 4_194_304;
/** The answers to writing and removing say nothing that is needed. */
const RECEIPT_MAX_BYTES = 65_536;

/**
 * Objects in a bucket of an S3-compatible storage that somebody else has set up, so that nothing about it is trusted:
 * neither its address, nor what it answers, nor that it ever does. Every request is on its own and is not repeated, save
 * on a fresh connection when a kept one turns out to be closed; what it does is the same however often it is done.
 *
 * The key needs the rights to write, read, remove and list objects. Without the right to list, Amazon denies to read what
 * is not there.
 */
export class ObjectStore {
  readonly #access: BucketAccess;
  readonly #options: ObjectStoreOptions;
  readonly #lookup: LookupFunction;
  readonly #agents: Readonly<Record<BucketAddress['protocol'], http.Agent>>;

  /** Opens no connection; a place that cannot be one is told by the first request. */
  constructor(options: ObjectStoreOptions) {
    this.#access = options.access;
    this.#options = options;
    this.#lookup = guardedLookup(options.mayConnect, options.resolve);
    const keeping = {
      keepAlive: true,
      maxSockets: CONNECTIONS_MAX,
      maxFreeSockets: CONNECTIONS_MAX,
      timeout: IDLE_SOCKET_MS,
    };
    this.#agents = { 'http:': new http.Agent(keeping), 'https:': new https.Agent(keeping) };
  }

  /**
   * Writes an object, in place of the one that has this key. When it resolves the storage has it, whole: the signature
   * covers the SHA-256 of the bytes, and `Content-MD5` has every storage check them, also one that does not look at the
   * former. (The newer `x-amz-checksum-sha256` some refuse, and others pass over; object locks want one of the two.)
   * The bytes must stay as they are until then.
   * @throws {BucketError}
   */
  async put(key: string, bytes: Uint8Array, about: { readonly contentType: string }): Promise<void> {
    const { sha256, md5 } = await digestsOf(bytes);
    const answer = await this.#send((place) => ({
      method: 'PUT',
      path: objectPath(place, key),
      body: bytes,
      headers: {
        'content-length': String(bytes.length),
        'content-md5': md5,
        'content-type': about.contentType,
        'x-amz-content-sha256': sha256,
      },
    }));
    if (!isSuccessful(answer.status)) throw reject(this.#host, answer);
  }

  /**
   * The bytes of an object; undefined when the storage says that there is none.
   * @throws {BucketError} also (failed) when there are more than `maxBytes`
   */
  async get(key: string, maxBytes: number): Promise<Uint8Array | undefined> {
    const answer = await this.#send((place) => ({
      method: 'GET',
      path: objectPath(place, key),
      answerMaxBytes: maxBytes,
    }));
    if (isAbsent(answer)) return undefined;
    if (!isSuccessful(answer.status)) throw reject(this.#host, answer);
    if (answer.isCut) throw this.#unexpected(`has an object of more than ${maxBytes} bytes`, answer);
    return answer.body;
  }

  /** Removes an object, if there is one. @throws {BucketError} */
  async remove(key: string): Promise<void> {
    const answer = await this.#send((place) => ({ method: 'DELETE', path: objectPath(place, key) }));
    if (!isSuccessful(answer.status) && !isAbsent(answer)) throw reject(this.#host, answer);
  }

  /**
   * Up to `max` keys that begin with `prefix`, the first ones in the order of their UTF-8 bytes, as the storage lists them.
   * @throws {BucketError}
   */
  async list(prefix: string, max: number): Promise<string[]> {
    const keys: string[] = [];
    let hasMore = true;
    for (let next: string | undefined; hasMore && keys.length < max; hasMore = next !== undefined) {
      const page = await this.#listPage(prefix, Math.min(PAGE_KEYS, max - keys.length), next);
      keys.push(...page.keys);
      next = page.next;
    }
    return keys;
  }

  /** Ends all connections; requests that are on their way fail. */
  close(): void {
    for (const agent of Object.values(this.#agents)) agent.destroy();
  }

  async #listPage(prefix: string, keysMax: number, next: string | undefined) {
    const parameters = {
      'continuation-token': next,
      // Else there are keys that XML cannot hold.
      'encoding-type': 'url',
      'list-type': '2',
      'max-keys': String(keysMax),
      prefix,
    };
    const query = Object.entries(parameters).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${encodeUri(value)}`],
    );
    const answer = await this.#send((place) => ({
      method: 'GET',
      path: place.path === '' ? '/' : place.path,
      query: query.join('&'),
      answerMaxBytes: PAGE_MAX_BYTES,
    }));
    if (!isSuccessful(answer.status)) throw reject(this.#host, answer);
    const page = answer.isCut ? undefined : readListing(answer.body.toString('utf8'), keysMax);
    if (page === undefined) throw this.#unexpected('answers what is no list of objects', answer);
    return page;
  }

  get #host(): string {
    return bucketAddress(this.#access).host;
  }

  #unexpected(words: string, { status }: Answer): BucketError {
    return new BucketError('failed', `${this.#host} ${words}`, { status });
  }

  async #send(requestOf: (place: BucketAddress) => Asked): Promise<Answer> {
    const place = bucketAddress(this.#access);
    judgeLiteral(place.hostname, this.#options.mayConnect);
    const request = requestOf(place);
    const signed = await this.#sign(place, request);
    const agent = this.#agents[place.protocol];
    const sending = {
      place,
      agent,
      lookup: this.#lookup,
      timeoutMs: this.#options.timeoutMs,
      answerMaxBytes: request.answerMaxBytes ?? RECEIPT_MAX_BYTES,
    };
    const answer = await exchange(signed, sending);
    if (answer !== 'stale') return answer;
    // Others that were kept as long are likely to be closed as well.
    for (const socket of Object.values(agent.freeSockets).flat()) socket?.destroy();
    const second = await exchange(signed, sending);
    if (second !== 'stale') return second;
    throw new BucketError('unreachable', `${place.host} closes its connections`);
  }

  async #sign(place: BucketAddress, request: Asked): Promise<SignedRequest> {
    const { method, body, query } = request;
    const path = query === undefined ? request.path : `${request.path}?${query}`;
    const { accessKeyId, secretAccessKey, region } = this.#access;
    if (!KEY_ID.test(accessKeyId)) throw new BucketError('denied', 'the access key id is none');
    const signer = new AwsV4Signer({
      method,
      url: `${place.protocol}//${place.host}${path}`,
      headers: { 'x-amz-content-sha256': EMPTY_SHA256, ...request.headers },
      service: 's3',
      region,
      accessKeyId,
      secretAccessKey,
    });
    const { headers } = await signer.sign();
    return { method, path, headers: Object.fromEntries(headers.entries()), body };
  }
}

/** Only the storage's own word counts: a web server that knows nothing of S3 has no such page either. */
function isAbsent(answer: Answer): boolean {
  return answer.status === 404 && codeOf(answer) === 'NoSuchKey';
}
