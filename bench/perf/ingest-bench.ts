import { Cluster } from '../cluster/cluster.ts';
import { startCpuMeter } from '../cluster/process-cost.ts';
import { checksumOf, generate, type LoadResult, trackRequests } from '../traffic/generator.ts';
import { echoProcess } from './echo.ts';
import { type Finding, median, rounded, shown, spread } from './results.ts';

/**
 * Question: what does durability cost? `POST /track`, answered when the bus has the event on disk, against a bare JSON
 * echo on the same HTTP library, in the same run, by the same generator with the same requests, in turns.
 *
 * Not compared: network, TLS, many idle kept connections, and the processor and the store, which do not run here: on
 * two cores they would take time from either side, and `pipeline` counts them. Without a processor, session look-ups
 * have no responder, so a first event costs a failed request and a derived id. The generator shares the machine: when
 * the echo leaves its core idle, the generator limits the echo, and the ratio flatters us; `echoBusyShare` shows that,
 * and the CPU figures do not depend on it.
 */
export interface IngestBenchOptions {
  readonly secondsPerTurn: number;
  readonly turns: number;
  readonly connections: number;
  readonly requests: number;
  /** Arguments for the measured programs, such as `--cpu-prof`. */
  readonly nodeArguments: readonly string[];
}

const SEED = 20_240_501;
const RATIO_GOAL = 0.35;

interface Turn {
  readonly load: LoadResult;
  readonly cpuMicros: Readonly<Record<string, number>>;
}

export async function ingestBench(options: IngestBenchOptions): Promise<Finding> {
  await using cluster = await Cluster.start({
    hosts: { ingest: ['ingest'] },
    processors: [],
    withStore: false,
    // Look-ups have no responder here, and waiting for one is not the question.
    env: { LOG_LEVEL: 'warn', SESSION_LOOKUP_TIMEOUT_MS: '10' },
    nodeArguments: options.nodeArguments,
  });
  const echo = echoProcess(cluster.folder);
  try {
    const { url: echoUrl } = JSON.parse(await echo.start()) as { url: string };
    const requests = trackRequests(SEED, options.requests, cluster.credentials.clients.write);
    const { connections } = options;
    const turn = async (url: string, pids: Record<string, number>, seconds: number): Promise<Turn> => {
      const meter = startCpuMeter(pids);
      const load = await generate({ url, requests, connections, seconds, ratePerSec: undefined });
      return { load, cpuMicros: meter() };
    };
    const echoTurn = (seconds: number) => turn(echoUrl, { echo: echo.pid }, seconds);
    const trackPids = { ingest: cluster.process('ingest').pid, bus: cluster.process('bus').pid };
    const trackTurn = (seconds: number) => turn(cluster.url('ingest'), trackPids, seconds);
    await echoTurn(options.secondsPerTurn);
    await trackTurn(options.secondsPerTurn);
    const echoes: Turn[] = [];
    const tracks: Turn[] = [];
    for (let count = 0; count < options.turns; count += 1) {
      echoes.push(await echoTurn(options.secondsPerTurn));
      tracks.push(await trackTurn(options.secondsPerTurn));
    }
    return finding(options, { echoes, tracks }, checksumOf(requests), cluster.busVersion);
  } finally {
    await echo.kill();
  }
}

function finding(
  options: IngestBenchOptions,
  { echoes, tracks }: { readonly echoes: readonly Turn[]; readonly tracks: readonly Turn[] },
  checksum: string,
  busVersion: string,
): Finding {
  const rates = (turns: readonly Turn[]) => turns.map(({ load }) => load.ratePerSec);
  const ratio = median(rates(tracks)) / median(rates(echoes));
  const perRequest = (turns: readonly Turn[], name: string) =>
    rounded(median(turns.map(({ load, cpuMicros }) => (cpuMicros[name] ?? 0) / load.accepted)));
  const failed = [...echoes, ...tracks].reduce((sum, { load }) => sum + load.failed, 0);
  const echoBusyShare = median(
    echoes.map(({ load, cpuMicros }) => (cpuMicros.echo ?? 0) / (load.seconds * 1_000_000)),
  );
  const reasons = [`ratio ${ratio.toFixed(3)}, goal ${RATIO_GOAL}`];
  if (failed > 0) reasons.push(`${failed} requests failed`);
  if (echoBusyShare < 0.9)
    reasons.push('the generator limited the echo: read the CPU figures, not only the ratio');
  return {
    name: 'ingest',
    config: { ...shown(options), seed: SEED, requestsChecksum: checksum, busVersion },
    figures: {
      ratio: rounded(ratio),
      echoPerSec: rates(echoes).map(Math.round),
      trackPerSec: rates(tracks).map(Math.round),
      echoSpread: rounded(spread(rates(echoes))),
      trackSpread: rounded(spread(rates(tracks))),
      echoP50Ms: median(echoes.map(({ load }) => load.p50Ms)),
      echoP99Ms: median(echoes.map(({ load }) => load.p99Ms)),
      trackP50Ms: median(tracks.map(({ load }) => load.p50Ms)),
      trackP99Ms: median(tracks.map(({ load }) => load.p99Ms)),
      cpuMicrosPerRequest: {
        echo: perRequest(echoes, 'echo'),
        ingest: perRequest(tracks, 'ingest'),
        bus: perRequest(tracks, 'bus'),
      },
      echoBusyShare: rounded(echoBusyShare),
    },
    verdict: failed > 0 ? 'invalid' : ratio >= RATIO_GOAL ? 'reached' : 'missed',
    reasons,
  };
}
