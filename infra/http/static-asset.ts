import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { type Encoding, encodedTag, encodingFor } from './encoding.ts';
import type { HeaderList } from './headers.ts';
import type { HttpServer, RequestHead } from './http.ts';
import type { Reply } from './open-reply.ts';
import { errorText } from './status.ts';

/** A body that does not change while the process runs, with its headers. */
export interface StaticAsset {
  readonly body: Uint8Array;
  readonly contentType: string;
  /** Seconds for which a client may use its copy without revalidating it; `FOREVER_S` for a body that its path names. */
  readonly maxAgeS: number;
  /** Sent with every answer, besides the headers about the body and about caching. */
  readonly headers: HeaderList;
  /** See `Route`. */
  readonly cors: HeaderList | undefined;
}

/** For a path with a hash of the body in it: another body has another path. */
export const FOREVER_S = 31_536_000;

const NAME_SHOWN_MAX = 200;

interface AssetRequest {
  readonly encoding: Encoding;
  /** The value of If-None-Match. */
  readonly known: string;
}

/**
 * Adds a `GET` route for a static body: revalidated by ETag (304), and compressed once, at the first request for it, in a thread of its
 * own. The documentation's script takes half a second.
 */
export function addStaticAsset(http: HttpServer, patterns: Iterable<string>, asset: StaticAsset): void {
  const answers = new AssetAnswers(asset);
  for (const pattern of patterns)
    addRoute(http, { pattern, cors: asset.cors }, (request, reply) => answers.answer(request, reply));
}

/**
 * The same for a body that takes long to make and that most processes are never asked for. The first request makes it; after a failure
 * the next one does. `make` must not block other requests for long.
 */
export function addLateAsset(
  http: HttpServer,
  pattern: string,
  { make, ...asset }: Omit<StaticAsset, 'body'> & { readonly make: () => Promise<Uint8Array> },
): void {
  let made: Promise<AssetAnswers> | undefined;
  const answers = () => {
    made ??= make().then(
      (body) => new AssetAnswers({ ...asset, body }),
      (error: unknown) => {
        made = undefined;
        throw error;
      },
    );
    return made;
  };
  addRoute(http, { pattern, cors: asset.cors }, async (request, reply) =>
    (await answers()).answer(request, reply),
  );
}

/** Adds a `GET` route for files by their names; another name is 404. The pattern ends with the name as its only parameter. */
export function addStaticFiles(
  http: HttpServer,
  pattern: string,
  files: ReadonlyMap<string, StaticAsset>,
): void {
  const answers = new Map([...files].map(([name, asset]) => [name, new AssetAnswers(asset)]));
  http.route<AssetRequest & { readonly name: string }>({
    method: 'get',
    pattern,
    bodyMaxBytes: 0,
    cors: undefined,
    readHead: (head) => ({ ...requestOf(head), name: head.parameter(0) }),
    answer: (request, _body, reply) => {
      const found = answers.get(request.name);
      if (found !== undefined) return found.answer(request, reply);
      reply.json(404, errorText(404, `no such file: ${request.name.slice(0, NAME_SHOWN_MAX)}`));
    },
  });
}

function addRoute(
  http: HttpServer,
  route: { readonly pattern: string; readonly cors: HeaderList | undefined },
  answer: (request: AssetRequest, reply: Reply) => void | Promise<void>,
): void {
  http.route<AssetRequest>({
    ...route,
    method: 'get',
    bodyMaxBytes: 0,
    readHead: requestOf,
    answer: (request, _body, reply) => answer(request, reply),
  });
}

/** True if an If-None-Match header names this tag. A weak tag, as proxies make them, counts. */
export function isKnown(ifNoneMatch: string, etag: string): boolean {
  return ifNoneMatch.split(',').some((part) => {
    const tag = part.trim().replace(/^W\//, '');
    return tag === '*' || tag === etag;
  });
}

interface Representation {
  readonly etag: string;
  /** Headers of a 304. */
  readonly headers: HeaderList;
  /** Headers of a 200. */
  readonly fullHeaders: HeaderList;
}

function representationsOf({
  body,
  contentType,
  maxAgeS,
  headers,
}: StaticAsset): Readonly<Record<Encoding, Representation>> {
  const hash = createHash('sha256').update(body).digest('base64url').slice(0, 22);
  const represent = (encoding: Encoding): Representation => {
    const etag = encodedTag(`"${hash}"`, encoding);
    const shared: HeaderList = [
      ...headers,
      ['etag', etag],
      ['cache-control', `public, max-age=${maxAgeS}${maxAgeS < FOREVER_S ? '' : ', immutable'}`],
      ['vary', 'accept-encoding'],
    ];
    const fullHeaders: HeaderList = [
      ...shared,
      ['content-type', contentType],
      ...(encoding === 'identity' ? [] : [['content-encoding', encoding] as const]),
    ];
    return { etag, headers: shared, fullHeaders };
  };
  return { br: represent('br'), gzip: represent('gzip'), identity: represent('identity') };
}

function requestOf(head: RequestHead): AssetRequest {
  return {
    encoding: encodingFor(head.header('accept-encoding')),
    known: head.header('if-none-match'),
  };
}

/** The answers to requests for one asset. */
class AssetAnswers {
  readonly #representations: Readonly<Record<Encoding, Representation>>;
  readonly #bodies: CompressedBodies;

  constructor(asset: StaticAsset) {
    this.#representations = representationsOf(asset);
    this.#bodies = new CompressedBodies(asset.body);
  }

  answer({ encoding, known }: AssetRequest, reply: Reply): void | Promise<void> {
    const { etag, headers, fullHeaders } = this.#representations[encoding];
    if (!isKnown(known, etag))
      return this.#bodies.use(encoding, (body) => reply.send(200, body, fullHeaders));
    reply.send(304, '', headers);
  }
}

/** A body in the encodings that were asked for. */
class CompressedBodies {
  readonly #body: Uint8Array;
  readonly #made: Map<Encoding, Uint8Array>;
  readonly #making = new Map<Encoding, Promise<void>>();

  constructor(body: Uint8Array) {
    this.#body = body;
    this.#made = new Map([['identity', body]]);
  }

  /** Calls `send` with the encoded body: synchronously, or when it has been made. */
  use(encoding: Encoding, send: (body: Uint8Array) => void): void | Promise<void> {
    const made = this.#made.get(encoding);
    if (made !== undefined) return send(made);
    let making = this.#making.get(encoding);
    if (making === undefined) {
      making = this.#make(encoding);
      this.#making.set(encoding, making);
    }
    return making.then(() => this.use(encoding, send));
  }

  async #make(encoding: Encoding): Promise<void> {
    const made =
      encoding === 'br'
        ? await promisify(brotliCompress)(this.#body, {
            params: { [constants.BROTLI_PARAM_QUALITY]: qualityFor(this.#body) },
          })
        : await promisify(gzip)(this.#body, { level: 9 });
    this.#made.set(encoding, made);
    this.#making.delete(encoding);
  }
}

/** The best quality takes five seconds for four megabytes, and saves a tenth compared with one that takes a third of a second. */
function qualityFor(body: Uint8Array): number {
  return body.byteLength > 1024 ** 2 ? 9 : constants.BROTLI_MAX_QUALITY;
}
