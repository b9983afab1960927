import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { HeaderList, HttpServer } from '../../infra/http.ts';

/** A text that stays as it is while the process runs. */
export interface Unchanging {
  readonly text: string;
  /** Besides those that are about caching. */
  readonly headers: HeaderList;
}

interface Asked {
  readonly takesGzip: boolean;
  /** The value of If-None-Match. */
  readonly known: string;
}

/** Adds a `GET` of such a text: compressed once, under a tag by which who has it is told so (304). */
export function addUnchanging(http: HttpServer, pattern: string, { text, headers }: Unchanging): void {
  const bytes = Buffer.from(text);
  const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
  const plain = representation(bytes, [['etag', `"${hash}"`], ...headers]);
  // Other bytes need another tag.
  const zipped = representation(gzipSync(bytes), [
    ['etag', `"${hash}-gzip"`],
    ['content-encoding', 'gzip'],
    ...headers,
  ]);
  const tags = [`"${hash}"`, `"${hash}-gzip"`];
  http.route<Asked>({
    method: 'get',
    pattern,
    bodyMaxBytes: 0,
    cors: undefined,
    readHead: (head) => ({
      takesGzip: takesGzip(head.header('accept-encoding')),
      known: head.header('if-none-match'),
    }),
    answer: (asked, _body, reply) => {
      const chosen = asked.takesGzip ? zipped : plain;
      if (isKnown(asked.known, tags)) reply.send(304, '', chosen.kept);
      else reply.send(200, chosen.body, chosen.headers);
    },
  });
}

interface Representation {
  readonly body: Uint8Array;
  readonly headers: HeaderList;
  /** Of a 304. */
  readonly kept: HeaderList;
}

function representation(body: Uint8Array, headers: HeaderList): Representation {
  const all: HeaderList = [...headers, ['cache-control', 'public, max-age=60'], ['vary', 'accept-encoding']];
  const kept = all.filter(([name]) => name !== 'content-type' && name !== 'content-encoding');
  return { body, headers: all, kept };
}

/** Whether an Accept-Encoding header allows gzip, which it may also forbid (`gzip;q=0`). */
function takesGzip(acceptEncoding: string): boolean {
  return acceptEncoding
    .toLowerCase()
    .split(',')
    .map((part) => part.split(';').map((text) => text.trim()))
    .some(([name, ...parameters]) => name === 'gzip' && !parameters.some((one) => /^q=0(\.0*)?$/.test(one)));
}

/** Whether an If-None-Match header names one of these tags; what a proxy made weak is as good. */
function isKnown(ifNoneMatch: string, tags: readonly string[]): boolean {
  return ifNoneMatch.split(',').some((part) => {
    const tag = part.trim().replace(/^W\//, '');
    return tag === '*' || tags.includes(tag);
  });
}
