import autocannon, { type Request } from 'autocannon';
import { build as buildHistogram } from 'hdr-histogram-js';

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
}

/**
 * Loads a server over kept connections, one request in flight on each, as fast as answers come; each connection has
 * requests of its own.
 */
export async function generate(options: LoadOptions): Promise<LoadResult> {
  const latency = buildHistogram({ lowestDiscernibleValue: 1, highestTrackableValue: 60_000_000 });
  const share = Math.max(1, Math.floor(options.requests.length / options.connections));
  let connection = 0;
  const result = await autocannon({
    url: options.url,
    connections: options.connections,
    pipelining: 1,
    duration: options.seconds,
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
