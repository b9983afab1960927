import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import S3rver, { type ObjectFolder, type StoredObject } from 's3rver';
import { signatureProblem } from './signature.ts';

/** A real S3-compatible server for one test file, on loopback. */
export interface S3Server {
  /** For path style. For virtual-hosted style use `VIRTUAL_HOST`. */
  readonly endpoint: string;
  /** The folder of the objects, deleted by `stop`. */
  readonly folder: string;
  /** All objects of a bucket, by default of the first one. */
  objects(bucket?: string): Promise<Map<string, Buffer>>;
  stop(): Promise<void>;
}

/** The only access key that the server knows. */
export const S3_KEY = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' } as const;
export const S3_REGION = 'us-east-1';
/** The server also serves a bucket as `<bucket>.s3.storage.test`, for clients that resolve this name to loopback. */
export const VIRTUAL_HOST = 's3.storage.test';

const OBJECT_SUFFIX = '._S3rver_object';
const PAGE_KEYS = 1000;

/**
 * Starts s3rver with additions in front of it, because s3rver does not check version 4 signatures and digests, answers
 * before an object is complete, and lists one page only.
 */
export async function startS3({ buckets }: { readonly buckets: readonly string[] }): Promise<S3Server> {
  const folder = mkdtempSync(join(tmpdir(), 'footfall-s3-'));
  const server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory: folder,
    serviceEndpoint: 'storage.test',
    configureBuckets: buckets.map((name) => ({ name })),
  });
  const { store } = server;
  store.putObject = (object) => putWhole(store, object);
  let changes: Promise<void> = Promise.resolve();
  server.middleware.unshift(async (context, next) => {
    const { method = '', url = '', headers } = context.request.req;
    const body = await buffer(context.req);
    context.req = Readable.from(body.length === 0 ? [] : [body]);
    const problem = signatureProblem({ method, url, headers, body }, (id) =>
      id === S3_KEY.accessKeyId ? S3_KEY.secretAccessKey : undefined,
    );
    if (problem !== undefined) {
      context.status = /^(?:XAmz|BadDigest)/.test(problem) ? 400 : 403;
      context.type = 'application/xml';
      context.body = `<?xml version="1.0"?><Error><Code>${problem}</Code></Error>`;
      return;
    }
    const listing = listingOf(url);
    if (method === 'GET' && listing !== undefined && (await store.getBucket(listing.bucket)) !== null) {
      context.type = 'application/xml';
      context.body = listingPage(await keysIn(join(folder, listing.bucket)), listing.parameters);
      return;
    }
    // Removing an object also removes its empty folder, into which another object may be about to be written.
    if (method === 'GET') return next();
    changes = changes.then(next, next);
    return changes;
  });
  const { port } = await server.run();
  return {
    endpoint: `http://127.0.0.1:${port}`,
    folder,
    objects: (bucket = buckets[0] ?? '') => objectsIn(join(folder, bucket)),
    stop: async () => {
      server.httpServer.closeAllConnections();
      await server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Writes an object atomically; it is visible to all readers when this resolves. */
async function putWhole(store: ObjectFolder, { bucket, key, content, metadata }: StoredObject) {
  const bytes = await buffer(content);
  const path = store.getResourcePath(bucket, key, 'object');
  const md5 = createHash('md5').update(bytes).digest('hex');
  await mkdir(dirname(path), { recursive: true });
  await writeFile(`${path}.unfinished`, bytes);
  await store.putMetadata(bucket, key, metadata, md5);
  await rename(`${path}.unfinished`, path);
  return { size: bytes.length, md5 };
}

async function objectsIn(folder: string): Promise<Map<string, Buffer>> {
  const keys = await keysIn(folder);
  return new Map(
    await Promise.all(
      keys.map(async (key) => [key, await readFile(join(folder, key + OBJECT_SUFFIX))] as const),
    ),
  );
}

async function keysIn(folder: string): Promise<string[]> {
  const paths = await readdir(folder, { recursive: true });
  return paths
    .filter((path) => path.endsWith(OBJECT_SUFFIX))
    .map((path) => path.slice(0, -OBJECT_SUFFIX.length));
}

function listingOf(url: string): { bucket: string; parameters: URLSearchParams } | undefined {
  const { pathname, searchParams } = new URL(url, 'http://s3');
  const bucket = /^\/([^/]+)\/?$/.exec(pathname)?.[1];
  if (bucket === undefined || searchParams.get('list-type') !== '2') return undefined;
  return { bucket, parameters: searchParams };
}

/** In the order of UTF-8 bytes, as S3 lists. The token is the last key of the previous page. */
function listingPage(keys: readonly string[], parameters: URLSearchParams): string {
  const prefix = parameters.get('prefix') ?? '';
  const after = Buffer.from(parameters.get('continuation-token') ?? '', 'base64');
  const rest = keys
    .map((key) => Buffer.from(key, 'utf8'))
    .sort(Buffer.compare)
    .filter((key) => key.toString('utf8').startsWith(prefix) && Buffer.compare(key, after) > 0);
  const page = rest.slice(0, Math.min(PAGE_KEYS, Number(parameters.get('max-keys') ?? PAGE_KEYS)));
  const isTruncated = page.length < rest.length;
  const isEncoded = parameters.get('encoding-type') === 'url';
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">',
    isEncoded ? '<EncodingType>url</EncodingType>' : '',
    `<IsTruncated>${isTruncated}</IsTruncated>`,
    isTruncated ? `<NextContinuationToken>${page.at(-1)?.toString('base64')}</NextContinuationToken>` : '',
    ...page.map((key) => `<Contents><Key>${shownKey(key.toString('utf8'), isEncoded)}</Key></Contents>`),
    '</ListBucketResult>',
  ].join('\n');
}

function shownKey(key: string, isEncoded: boolean): string {
  if (isEncoded)
    return encodeURIComponent(key).replaceAll('%2F', '/').replaceAll('%20', '+').replaceAll("'", '%27');
  return key.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
