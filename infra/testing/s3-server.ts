import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
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
  /** Keys of uploads that were neither completed nor removed. */
  openUploads(bucket?: string): Promise<string[]>;
  stop(): Promise<void>;
}

/** The only access key that the server knows. */
export const S3_KEY = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' } as const;
export const S3_REGION = 'us-east-1';
/** The server also serves a bucket as `<bucket>.s3.storage.test`, for clients that resolve this name to loopback. */
export const VIRTUAL_HOST = 's3.storage.test';

const OBJECT_SUFFIX = '._S3rver_object';
const UPLOADS_FOLDER = '._S3rver_uploads';
const PAGE_KEYS = 1000;

/**
 * Starts s3rver with additions in front of it, because s3rver does not check version 4 signatures and digests, answers
 * before an object or a part is written, lists one page only, and neither lists nor removes uploads.
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
  store.putPart = (bucket, ...part) => putWholePart(join(folder, bucket, UPLOADS_FOLDER), ...part);
  let changes: Promise<void> = Promise.resolve();
  server.middleware.unshift(async (context, next) => {
    const { method = '', url = '', headers } = context.request.req;
    const body = await buffer(context.req);
    context.req = Readable.from(body.length === 0 ? [] : [body]);
    const problem = signatureProblem({ method, url, headers, body }, (id) =>
      id === S3_KEY.accessKeyId ? S3_KEY.secretAccessKey : undefined,
    );
    const fail = (status: number, code: string) => {
      context.status = status;
      context.type = 'application/xml';
      context.body = `<?xml version="1.0"?><Error><Code>${code}</Code></Error>`;
    };
    if (problem !== undefined) return fail(/^(?:XAmz|BadDigest)/.test(problem) ? 400 : 403, problem);
    const { bucket, key, parameters } = targetOf(url);
    const inBucket = join(folder, bucket);
    if (method === 'GET' && key === '' && (await store.getBucket(bucket)) !== null) {
      context.type = 'application/xml';
      if (parameters.get('list-type') === '2')
        context.body = listingPage(await sizesIn(inBucket), parameters);
      else if (parameters.has('uploads')) context.body = uploadsPage(await uploadsIn(inBucket), parameters);
      else return next();
      return;
    }
    const uploadId = parameters.get('uploadId');
    if (uploadId !== null) {
      const upload = join(inBucket, UPLOADS_FOLDER, uploadId);
      if (!existsSync(upload)) return fail(404, 'NoSuchUpload');
      if (method === 'DELETE') {
        await rm(upload, { recursive: true });
        context.status = 204;
        context.body = '';
        return;
      }
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
    openUploads: async (bucket = buckets[0] ?? '') =>
      [...(await uploadsIn(join(folder, bucket))).values()].sort(),
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

/** Writes a part of an upload; its object may be completed when this resolves. */
async function putWholePart(uploads: string, uploadId: string, number: string, content: Readable) {
  const bytes = await buffer(content);
  const md5 = createHash('md5').update(bytes).digest('hex');
  const path = join(uploads, uploadId, number);
  await writeFile(path, bytes);
  await writeFile(`${path}.md5`, md5);
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

/** By their keys. */
async function sizesIn(folder: string): Promise<Map<string, number>> {
  const keys = await keysIn(folder);
  const sizes = keys.map(async (key) => [key, (await stat(join(folder, key + OBJECT_SUFFIX))).size] as const);
  return new Map(await Promise.all(sizes));
}

/** The keys of uploads by their ids. */
async function uploadsIn(folder: string): Promise<Map<string, string>> {
  const uploads = join(folder, UPLOADS_FOLDER);
  const ids = existsSync(uploads) ? await readdir(uploads) : [];
  const keys = ids.map(async (id) => [id, await readFile(join(uploads, id, 'key'), 'utf8')] as const);
  return new Map(await Promise.all(keys));
}

function targetOf(url: string): { bucket: string; key: string; parameters: URLSearchParams } {
  const { pathname, searchParams } = new URL(url, 'http://s3');
  const [, bucket = '', key = ''] = /^\/([^/]*)\/?(.*)$/.exec(pathname) ?? [];
  return { bucket, key, parameters: searchParams };
}

function uploadsPage(uploads: ReadonlyMap<string, string>, parameters: URLSearchParams): string {
  const prefix = parameters.get('prefix') ?? '';
  const isEncoded = parameters.get('encoding-type') === 'url';
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<ListMultipartUploadsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">',
    isEncoded ? '<EncodingType>url</EncodingType>' : '',
    ...[...uploads]
      .filter(([, key]) => key.startsWith(prefix))
      .map(
        ([id, key]) =>
          `<Upload><Key>${shownKey(key, isEncoded)}</Key><UploadId>${id}</UploadId><Initiator><ID>a</ID></Initiator></Upload>`,
      ),
    '</ListMultipartUploadsResult>',
  ].join('\n');
}

/** In the order of UTF-8 bytes, as S3 lists. The token is the last key of the previous page. */
function listingPage(sizes: ReadonlyMap<string, number>, parameters: URLSearchParams): string {
  const prefix = parameters.get('prefix') ?? '';
  const after = Buffer.from(parameters.get('continuation-token') ?? '', 'base64');
  const rest = [...sizes.keys()]
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
    ...page.map((bytes) => {
      const key = bytes.toString('utf8');
      return `<Contents><Key>${shownKey(key, isEncoded)}</Key><Size>${sizes.get(key)}</Size></Contents>`;
    }),
    '</ListBucketResult>',
  ].join('\n');
}

function shownKey(key: string, isEncoded: boolean): string {
  if (isEncoded)
    return encodeURIComponent(key).replaceAll('%2F', '/').replaceAll('%20', '+').replaceAll("'", '%27');
  return key.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
