import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { VisitorModel } from '../../../ingest/testing/visitors.ts';
import type { Credential } from '../../cluster/client.ts';
import { trackBody, trackHeaders } from '../../traffic/visit-request.ts';

/** Whole requests in a file, from which a generator draws at random. */
export interface RequestPool {
  readonly path: string;
  readonly requests: number;
  readonly bytesPerRequest: number;
  /** Identifies the work: two pools with the same checksum have the same bodies. */
  readonly checksum: string;
}

export interface PoolOptions {
  readonly path: string;
  readonly seed: number;
  readonly visitors: number;
  /** Requests of each visitor; as many as fit into the file when absent. */
  readonly views?: number;
  /** Pools with different numbers have no visitor in common; 0 to 255. */
  readonly number: number;
  readonly credential: Credential;
}

const REQUESTS_MAX = 50_000;
const VIEWS_MAX = 8;
const VISITORS_MAX = 65_536;

/**
 * Writes page views of this many visitors, each with an address, agent, referrer and properties of its own. All visitors
 * have the same number of requests, so a random request is one of a random visitor. In the file, each request follows
 * its length and a line feed.
 */
export function writePool({
  path,
  seed,
  visitors,
  number,
  credential,
  views = Math.max(1, Math.min(VIEWS_MAX, Math.floor(REQUESTS_MAX / visitors))),
}: PoolOptions): RequestPool {
  if (visitors > VISITORS_MAX) throw new Error(`a pool has at most ${VISITORS_MAX} visitors`);
  const model = new VisitorModel(seed, VISITORS_MAX);
  const hash = createHash('sha256');
  const parts: Buffer[] = [];
  let bytes = 0;
  for (let visitor = 0; visitor < visitors; visitor += 1) {
    const visit = { ...model.nextVisit(), address: addressOf(number, visitor) };
    const pages = visit.steps.filter(({ name }) => name === 'screen_view');
    for (let view = 0; view < views; view += 1) {
      const page = pages[view % pages.length] ?? visit.steps[0];
      const step = { ...page, properties: { plan: 'free', variant: `b-${visitor % 7}` } };
      const body = trackBody(visit, step, true);
      hash.update(body);
      const request = Buffer.from(requestText(body, { ...headersOf(credential), ...trackHeaders(visit) }));
      parts.push(Buffer.from(`${request.length}\n`), request);
      bytes += request.length;
    }
  }
  writeFileSync(path, Buffer.concat(parts));
  const requests = visitors * views;
  return {
    path,
    requests,
    bytesPerRequest: Math.round(bytes / requests),
    checksum: hash.digest('hex').slice(0, 16),
  };
}

/** The requests of a pool, whole. */
export function readPool(path: string): readonly Buffer[] {
  const file = readFileSync(path);
  const requests: Buffer[] = [];
  for (let at = 0; at < file.length; ) {
    const lineEnd = file.indexOf('\n', at);
    const length = Number(file.toString('latin1', at, lineEnd));
    requests.push(file.subarray(lineEnd + 1, lineEnd + 1 + length));
    at = lineEnd + 1 + length;
  }
  return requests;
}

function requestText(body: string, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const head = ['POST /track HTTP/1.1', 'host: 127.0.0.1', ...lines];
  return `${head.join('\r\n')}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

function headersOf({ id, secret }: Credential): Record<string, string> {
  return { 'content-type': 'application/json', 'service-client-id': id, 'service-client-secret': secret };
}

function addressOf(pool: number, visitor: number): string {
  return `81.${pool & 255}.${visitor >> 8}.${visitor & 255}`;
}
