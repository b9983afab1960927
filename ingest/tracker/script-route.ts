import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import type { HeaderList, HttpServer } from '../../infra/http.ts';
import { projectRoot } from '../../infra/root.ts';

/** Where every installation has the script. */
const USUAL_PATHS = ['/script.js', '/op1.js'];
/** No parameter or wildcard of a route, no query. */
const PLAIN_PATH = /^\/[\w.~/-]+$/;
/** What `npm run build` made of `tracker.ts`. */
const BUILT_SCRIPT = join(projectRoot, 'dist/ingest/tracker/script.js');

/** How the script can be sent, the best first; everybody takes the last. */
const ENCODINGS = ['br', 'gzip', 'identity'] as const;
type Encoding = (typeof ENCODINGS)[number];

/** The script in one encoding. */
interface Representation {
  readonly body: Uint8Array;
  readonly etag: string;
  /** Of a 304. */
  readonly headers: HeaderList;
  /** Of a 200. */
  readonly fullHeaders: HeaderList;
}

interface Asked {
  readonly encoding: Encoding;
  /** The value of If-None-Match. */
  readonly known: string;
}

export interface ScriptRouteOptions {
  /** Paths besides the usual ones, for sites whose visitors' filter lists block those. */
  readonly paths: readonly string[];
  /** What goes out with each answer of a collection endpoint; lets every page load the script. */
  readonly headers: HeaderList;
  /** The script's file, where it is not the one that the build makes. */
  readonly scriptFile?: string;
}

/**
 * `GET /script.js`, `/op1.js` and further paths: the browser script. It is read and compressed once, before the service
 * listens; without it there is no start.
 */
export function addScriptRoutes(http: HttpServer, options: ScriptRouteOptions): void {
  const { paths, headers, scriptFile = BUILT_SCRIPT } = options;
  const representations = representationsOf(readFileSync(scriptFile), headers);
  for (const pattern of new Set([...USUAL_PATHS, ...paths])) {
    if (!PLAIN_PATH.test(pattern)) throw new Error(`not a path for the browser script: ${pattern}`);
    http.route<Asked>({
      method: 'get',
      pattern,
      bodyMaxBytes: 0,
      cors: headers,
      readHead: (head) => ({
        encoding: encodingFor(head.header('accept-encoding')),
        known: head.header('if-none-match'),
      }),
      answer: ({ encoding, known }, _body, reply) => {
        const script = representations[encoding];
        if (isKnown(known, script.etag)) reply.send(304, '', script.headers);
        else reply.send(200, script.body, script.fullHeaders);
      },
    });
  }
}

/** The best encoding that an Accept-Encoding header allows. */
export function encodingFor(acceptEncoding: string): Encoding {
  const allowed = acceptEncoding
    .toLowerCase()
    .split(',')
    .map((part) => part.split(';').map((text) => text.trim()))
    .filter(([, ...parameters]) => !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter)))
    .map(([name]) => name);
  return ENCODINGS.find((encoding) => allowed.includes(encoding)) ?? 'identity';
}

/** Whether an If-None-Match header names this tag; what a proxy made weak is as good. */
export function isKnown(ifNoneMatch: string, etag: string): boolean {
  return ifNoneMatch.split(',').some((part) => {
    const tag = part.trim().replace(/^W\//, '');
    return tag === '*' || tag === etag;
  });
}

function representationsOf(
  script: Uint8Array,
  headers: HeaderList,
): Readonly<Record<Encoding, Representation>> {
  const hash = createHash('sha256').update(script).digest('base64url').slice(0, 22);
  const represent = (encoding: Encoding, body: Uint8Array): Representation => {
    // Other bytes need another tag.
    const etag = `"${hash}-${encoding}"`;
    const shared: HeaderList = [
      ...headers,
      ['etag', etag],
      ['cache-control', 'public, max-age=3600'],
      ['vary', 'accept-encoding'],
      ['cross-origin-resource-policy', 'cross-origin'],
    ];
    const encoded: HeaderList = encoding === 'identity' ? [] : [['content-encoding', encoding]];
    const fullHeaders: HeaderList = [
      ...shared,
      ['content-type', 'text/javascript; charset=utf-8'],
      ['x-content-type-options', 'nosniff'],
      ...encoded,
    ];
    return { body, etag, headers: shared, fullHeaders };
  };
  return {
    br: represent('br', brotliCompressSync(script)),
    gzip: represent('gzip', gzipSync(script, { level: 9 })),
    identity: represent('identity', script),
  };
}
