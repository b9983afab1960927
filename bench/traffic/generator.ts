import { createHash } from 'node:crypto';
import autocannon, { type Request } from 'autocannon';
import { build as buildHistogram } from 'hdr-histogram-js';
import { VisitorModel } from '../../ingest/testing/visitors.ts';
import type { Credential } from '../cluster/client.ts';
import { trackBody, trackHeaders } from './visit-request.ts';

/** The result of one load run. Latencies run from sending to the end of the answer, closed loop. */
export interface LoadResult {
  readonly seconds: number;
  readonly accepted: number;
  readonly failed: number;
  readonly ratePerSec: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface LoadOptions {
  readonly url: string;
  readonly requests: readonly Request[];
  readonly connections: number;
  readonly seconds: number;
  /** Undefined: as fast as answers come. */
  readonly ratePerSec: number | undefined;
}

/** Requests of believable visits, in the model's order; the same for the same seed. */
export function trackRequests(seed: number, count: number, { id, secret }: Credential): Request[] {
  const model = new VisitorModel(seed, Math.max(100, count));
  const requests: Request[] = [];
  while (requests.length < count) {
    const visit = model.nextVisit();
    for (const [index, step] of visit.steps.entries()) {
      requests.push({
        method: 'POST',
        path: '/track',
        headers: {
          'content-type': 'application/json',
          'service-client-id': id,
          'service-client-secret': secret,
          ...trackHeaders(visit),
        },
        body: trackBody(visit, step, index === 0),
      });
    }
  }
  return requests.slice(0, count);
}

/** Identifies the work: two runs with the same checksum sent the same bodies. */
export function checksumOf(requests: readonly Request[]): string {
  const hash = createHash('sha256');
  for (const { body } of requests) hash.update(body);
  return hash.digest('hex').slice(0, 16);
}

/** Loads a server over kept connections, one request in flight on each; each connection has requests of its own. */
export async function generate(options: LoadOptions): Promise<LoadResult> {
  const latency = buildHistogram({ lowestDiscernibleValue: 1, highestTrackableValue: 60_000_000 });
  const share = Math.max(1, Math.floor(options.requests.length / options.connections));
  let connection = 0;
  const result = await autocannon({
    url: options.url,
    connections: options.connections,
    pipelining: 1,
    duration: options.seconds,
    ...(options.ratePerSec === undefined ? {} : { overallRate: options.ratePerSec }),
    requests: options.requests.slice(0, 1),
    setupClient: (client) => {
      client.setRequests(options.requests.slice(connection * share, (connection + 1) * share));
      connection += 1;
      client.on('response', (_status, _bytes, timeMs) => latency.recordValue(Math.round(timeMs * 1_000)));
    },
  });
  return {
    seconds: result.duration,
    accepted: result['2xx'],
    failed: result.non2xx + result.errors + result.timeouts,
    ratePerSec: result['2xx'] / result.duration,
    p50Ms: latency.getValueAtPercentile(50) / 1_000,
    p99Ms: latency.getValueAtPercentile(99) / 1_000,
  };
}
