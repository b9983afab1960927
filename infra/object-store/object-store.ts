import http from 'node:http';
import https from 'node:https';
import type { LookupFunction } from 'node:net';
import { AwsV4Signer } from 'aws4fetch';
import { type BucketAddress, bucketAddress, encodeUri, objectPath } from './bucket-address.ts';
import { BucketError } from './bucket-error.ts';
import { digestsOf } from './digests.ts';
import { codeOf, errorOfAnswer } from './error-answer.ts';
import { type BucketAnswer, exchange, isSuccessful, type SignedRequest } from './exchange.ts';
import { guardedLookup, type Resolve, rejectForbiddenLiteral } from './guarded-lookup.ts';
import { type ListedObject, readListing } from './listing.ts';
import {
  completionOf,
  isCompleted,
  type OpenUpload,
  readUploadId,
  readUploads,
  type UploadedPart,
} from './upload-documents.ts';

export { BUCKET_FAILURES, BucketError, type BucketFailure } from './bucket-error.ts';
export type { ListedObject } from './listing.ts';
export type { OpenUpload, UploadedPart } from './upload-documents.ts';

/** The address of a bucket and the credentials for it. */
export interface BucketAccess {
  /** `http://` or `https://`, a host and optionally a port, nothing more. Null: Amazon's own endpoint of the region. */
  readonly endpoint: string | null;
  readonly region: string;
  readonly bucket: string;
  /** True if the bucket's name is part of the path rather than the host. */
  readonly pathStyle: boolean;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Set when the key is a temporary one, which comes with a token and expires after some hours. */
  readonly sessionToken?: string | undefined;
}

export interface ObjectStoreOptions {
  readonly access: BucketAccess;
  /** Called for every address before a connection to it is opened; see infra/network/public-address.ts. */
  readonly mayConnect: (address: string) => boolean;
  /** Longest time of one request, from the connection to the end of the answer. */
  readonly timeoutMs: number;
  /** Resolves names; by default with the system's resolver. */
  readonly resolve?: Resolve;
}

/** Some bytes of an object. */
export interface ObjectPiece {
  readonly bytes: Uint8Array;
  /** The size of the whole object. */
  readonly objectBytes: number;
}

interface UnsignedRequest {
  readonly method: SignedRequest['method'];
  /** URL-encoded, as is `query`. */
  readonly path: string;
  readonly query?: string;
  readonly body?: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  /** Limit for a successful answer; the rest is not read. */
  readonly answerMaxBytes?: number;
}

/** Characters that are allowed in a header and do not end the key ID in a credential list. */
const KEY_ID = /^[\x21-\x2b\x2d-\x7e]{1,1024}$/;
const CONNECTIONS_MAX = 8;
// Shorter than the time after which storages close idle connections.
const IDLE_SOCKET_MS = 5000;
const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
/** The page size of S3, and room for that many of the longest keys, encoded. */
const PAGE_KEYS = 1000;
const PAGE_MAX_BYTES = 4_194_304;
/** Answers to PUT and DELETE hold nothing that is needed. */
const RECEIPT_MAX_BYTES = 65_536;
const CONTENT_RANGE = /^bytes (\d+)-(\d+)\/(\d+)$/;

/**
 * Objects in a bucket of S3-compatible storage, a customer's or the operator's. Nothing about it is trusted: neither
 * its address, nor its answers, nor that it answers at all. Requests are idempotent and are not retried, except once on
 * a new connection when a reused one proves to be closed.
 *
 * The key needs the rights to write, read, remove and list objects. Without the right to list, Amazon answers `denied`
 * for a missing object.
 */
export class ObjectStore {
  readonly #access: BucketAccess;
  readonly #options: ObjectStoreOptions;
  readonly #lookup: LookupFunction;
  readonly #agents: Readonly<Record<BucketAddress['protocol'], http.Agent>>;

  /** Opens no connection; the first request reports an invalid address. */
  constructor(options: ObjectStoreOptions) {
    this.#access = options.access;
    this.#options = options;
    this.#lookup = guardedLookup(options.mayConnect, options.resolve);
    const agentOptions = {
      keepAlive: true,
      maxSockets: CONNECTIONS_MAX,
      maxFreeSockets: CONNECTIONS_MAX,
      timeout: IDLE_SOCKET_MS,
    };
    this.#agents = { 'http:': new http.Agent(agentOptions), 'https:': new https.Agent(agentOptions) };
  }

  /**
   * Writes an object, replacing the one with this key. When it resolves, the storage has the whole object: the
   * signature covers the SHA-256 of the bytes, and `Content-MD5` makes storages check them that ignore the SHA-256.
   * (Some storages reject the newer `x-amz-checksum-sha256` and others ignore it; object locks require one of the two.)
   * Do not change the bytes before it resolves.
   * @throws {BucketError}
   */
  async put(key: string, bytes: Uint8Array, about: { readonly contentType: string }): Promise<void> {
    const headers = { ...(await bodyHeaders(bytes)), 'content-type': about.contentType };
    await this.#succeed((address) => ({
      method: 'PUT',
      path: objectPath(address, key),
      body: bytes,
      headers,
    }));
  }

  /**
   * Begins an object that is written in parts. Nothing of it can be read before `completeUpload`; until then, or until
   * `abortUpload`, the storage keeps its parts, and may bill them.
   * @throws {BucketError}
   */
  async beginUpload(key: string, about: { readonly contentType: string }): Promise<OpenUpload> {
    const answer = await this.#succeed((address) => ({
      method: 'POST',
      path: objectPath(address, key),
      query: 'uploads=',
      headers: { 'content-length': '0', 'content-type': about.contentType },
    }));
    const uploadId = readUploadId(answer.body.toString('utf8'));
    if (uploadId === undefined) throw this.#unexpected('did not send the id of an upload', answer);
    return { key, uploadId };
  }

  /**
   * Writes one part, checked as in `put`. All but the last one have the same length, 5 MiB or more; the first has number 1.
   * @throws {BucketError}
   */
  async putPart({ key, uploadId }: OpenUpload, number: number, bytes: Uint8Array): Promise<UploadedPart> {
    const headers = await bodyHeaders(bytes);
    const answer = await this.#succeed((address) => ({
      method: 'PUT',
      path: objectPath(address, key),
      query: `partNumber=${number}&uploadId=${encodeUri(uploadId)}`,
      body: bytes,
      headers,
    }));
    const tag = answer.headers.etag;
    if (tag === undefined) throw this.#unexpected('did not send the tag of a part', answer);
    return { number, tag };
  }

  /**
   * Makes the parts one object, which replaces the one with this key. Where an answer was lost, a second call may find no such
   * upload (code `NoSuchUpload`) though the object is there.
   * @throws {BucketError}
   */
  async completeUpload({ key, uploadId }: OpenUpload, parts: readonly UploadedPart[]): Promise<void> {
    const body = Buffer.from(completionOf(parts));
    const headers = { ...(await bodyHeaders(body)), 'content-type': 'application/xml' };
    const answer = await this.#succeed((address) => ({
      method: 'POST',
      path: objectPath(address, key),
      query: `uploadId=${encodeUri(uploadId)}`,
      body,
      headers,
    }));
    // The head of the answer is sent before the parts are put together.
    if (!isCompleted(answer.body.toString('utf8')))
      throw errorOfAnswer(this.#host, { ...answer, status: 500 });
  }

  /** Removes an upload and its parts, if it exists. @throws {BucketError} */
  async abortUpload({ key, uploadId }: OpenUpload): Promise<void> {
    const answer = await this.#send((address) => ({
      method: 'DELETE',
      path: objectPath(address, key),
      query: `uploadId=${encodeUri(uploadId)}`,
    }));
    if (!isSuccessful(answer.status) && answer.status !== 404) throw errorOfAnswer(this.#host, answer);
  }

  /** Up to a thousand uploads of keys that begin with `prefix` and that were neither completed nor removed. @throws {BucketError} */
  async openUploads(prefix: string): Promise<readonly OpenUpload[]> {
    const answer = await this.#succeed((address) => ({
      method: 'GET',
      path: address.path === '' ? '/' : address.path,
      query: `encoding-type=url&prefix=${encodeUri(prefix)}&uploads=`,
      answerMaxBytes: PAGE_MAX_BYTES,
    }));
    const uploads = answer.isCut ? undefined : readUploads(answer.body.toString('utf8'));
    if (uploads === undefined) throw this.#unexpected('did not send a valid list of uploads', answer);
    return uploads;
  }

  /**
   * The bytes of an object; undefined when the storage reports that it does not exist.
   * @throws {BucketError} also (failed) when it is larger than `maxBytes`
   */
  async get(key: string, maxBytes: number): Promise<Uint8Array | undefined> {
    const answer = await this.#send((address) => ({
      method: 'GET',
      path: objectPath(address, key),
      answerMaxBytes: maxBytes,
    }));
    if (isAbsent(answer)) return undefined;
    if (!isSuccessful(answer.status)) throw errorOfAnswer(this.#host, answer);
    if (answer.isCut) throw this.#unexpected(`sent an object larger than ${maxBytes} bytes`, answer);
    return answer.body;
  }

  /**
   * At most `maxBytes` of an object, from the byte `from` on, which it must have; undefined when the storage reports that the
   * object does not exist.
   * @throws {BucketError}
   */
  async getPiece(key: string, from: number, maxBytes: number): Promise<ObjectPiece | undefined> {
    const answer = await this.#send((address) => ({
      method: 'GET',
      path: objectPath(address, key),
      headers: { range: `bytes=${from}-${from + maxBytes - 1}` },
      answerMaxBytes: maxBytes,
    }));
    if (isAbsent(answer)) return undefined;
    if (!isSuccessful(answer.status)) throw errorOfAnswer(this.#host, answer);
    const { status, body, isCut } = answer;
    // A storage may send the whole of a small object.
    if (status === 200 && from === 0 && !isCut) return { bytes: body, objectBytes: body.length };
    const [, first, last, objectBytes] = CONTENT_RANGE.exec(answer.headers['content-range'] ?? '') ?? [];
    const isAsked = Number(first) === from && Number(last) === from + body.length - 1;
    if (status !== 206 || isCut || !isAsked) throw this.#unexpected('sent other bytes of an object', answer);
    return { bytes: body, objectBytes: Number(objectBytes) };
  }

  /** Removes an object if it exists. @throws {BucketError} */
  async remove(key: string): Promise<void> {
    const answer = await this.#send((address) => ({ method: 'DELETE', path: objectPath(address, key) }));
    if (!isSuccessful(answer.status) && !isAbsent(answer)) throw errorOfAnswer(this.#host, answer);
  }

  /**
   * The first `max` keys that begin with `prefix`, in the order of their UTF-8 bytes, as the storage lists them.
   * @throws {BucketError}
   */
  async list(prefix: string, max: number): Promise<string[]> {
    return (await this.listObjects(prefix, max)).map(({ key }) => key);
  }

  /** The same with their sizes. @throws {BucketError} */
  async listObjects(prefix: string, max: number): Promise<ListedObject[]> {
    const objects: ListedObject[] = [];
    let hasMore = true;
    for (let next: string | undefined; hasMore && objects.length < max; hasMore = next !== undefined) {
      const page = await this.#listPage(prefix, Math.min(PAGE_KEYS, max - objects.length), next);
      objects.push(...page.objects);
      next = page.next;
    }
    return objects;
  }

  /** Closes all connections; requests in flight fail. */
  close(): void {
    for (const agent of Object.values(this.#agents)) agent.destroy();
  }

  async #listPage(prefix: string, keysMax: number, next: string | undefined) {
    const parameters = {
      'continuation-token': next,
      // Without it, a key could hold characters that XML cannot.
      'encoding-type': 'url',
      'list-type': '2',
      'max-keys': String(keysMax),
      prefix,
    };
    const query = Object.entries(parameters).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${encodeUri(value)}`],
    );
    const answer = await this.#succeed((address) => ({
      method: 'GET',
      path: address.path === '' ? '/' : address.path,
      query: query.join('&'),
      answerMaxBytes: PAGE_MAX_BYTES,
    }));
    const page = answer.isCut ? undefined : readListing(answer.body.toString('utf8'), keysMax);
    if (page === undefined) throw this.#unexpected('did not send a valid object list', answer);
    return page;
  }

  get #host(): string {
    return bucketAddress(this.#access).host;
  }

  #unexpected(words: string, { status }: BucketAnswer): BucketError {
    return new BucketError('failed', `${this.#host} ${words}`, { status });
  }

  async #succeed(requestOf: (address: BucketAddress) => UnsignedRequest): Promise<BucketAnswer> {
    const answer = await this.#send(requestOf);
    if (!isSuccessful(answer.status)) throw errorOfAnswer(this.#host, answer);
    return answer;
  }

  async #send(requestOf: (address: BucketAddress) => UnsignedRequest): Promise<BucketAnswer> {
    const address = bucketAddress(this.#access);
    rejectForbiddenLiteral(address.hostname, this.#options.mayConnect);
    const request = requestOf(address);
    const signed = await this.#sign(address, request);
    const agent = this.#agents[address.protocol];
    const options = {
      address,
      agent,
      lookup: this.#lookup,
      timeoutMs: this.#options.timeoutMs,
      answerMaxBytes: request.answerMaxBytes ?? RECEIPT_MAX_BYTES,
    };
    const answer = await exchange(signed, options);
    if (answer !== 'stale') return answer;
    // Other connections of the same age are probably closed too.
    for (const socket of Object.values(agent.freeSockets).flat()) socket?.destroy();
    const second = await exchange(signed, options);
    if (second !== 'stale') return second;
    throw new BucketError('unreachable', `${address.host} keeps closing the connection`);
  }

  async #sign(address: BucketAddress, request: UnsignedRequest): Promise<SignedRequest> {
    const { method, body, query } = request;
    const path = query === undefined ? request.path : `${request.path}?${query}`;
    const { accessKeyId, secretAccessKey, region, sessionToken } = this.#access;
    if (!KEY_ID.test(accessKeyId)) throw new BucketError('denied', 'the access key ID is not valid');
    const signer = new AwsV4Signer({
      method,
      url: `${address.protocol}//${address.host}${path}`,
      headers: { 'x-amz-content-sha256': EMPTY_SHA256, ...request.headers },
      service: 's3',
      region,
      accessKeyId,
      secretAccessKey,
      ...(sessionToken === undefined ? {} : { sessionToken }),
    });
    const { headers } = await signer.sign();
    return { method, path, headers: Object.fromEntries(headers.entries()), body };
  }
}

/** Only the storage's own error code counts: a web server that is not S3 also answers 404. */
function isAbsent(answer: BucketAnswer): boolean {
  return answer.status === 404 && codeOf(answer) === 'NoSuchKey';
}

/** The headers by which a storage checks a body. */
async function bodyHeaders(bytes: Uint8Array): Promise<Readonly<Record<string, string>>> {
  const { sha256, md5 } = await digestsOf(bytes);
  return { 'content-length': String(bytes.length), 'content-md5': md5, 'x-amz-content-sha256': sha256 };
}
