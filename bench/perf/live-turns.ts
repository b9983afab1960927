import type { Request } from 'autocannon';
import type { Cluster } from '../cluster/cluster.ts';
import { startCpuMeter } from '../cluster/process-cost.ts';
import { generate, type LoadResult } from '../traffic/generator.ts';
import { echoProcess } from './echo.ts';
import { median, rounded, spread } from './results.ts';

export interface LiveOptions {
  /** The host that answers. */
  readonly host: string;
  readonly secondsPerTurn: number;
  readonly turns: number;
  readonly connections: number;
  /** Clients of the site that share a secret and take turns. */
  readonly clientIds: readonly string[];
}

export interface LiveFindings {
  readonly ratio: number;
  readonly failed: number;
  readonly figures: Readonly<Record<string, number | readonly number[] | Readonly<Record<string, number>>>>;
}

interface Turn {
  readonly load: LoadResult;
  readonly cpuMicros: Readonly<Record<string, number>>;
}

/**
 * `GET /insights/{id}/live` against a bare GET on the same HTTP library, by the same generator with the same requests,
 * in turns. The owners' counts behind the answer are fetched at most ten times a second, however many clients ask. The
 * site has no visitors meanwhile.
 */
export async function liveTurns(cluster: Cluster, options: LiveOptions): Promise<LiveFindings> {
  const echo = echoProcess(cluster.folder);
  try {
    const { url: echoUrl } = JSON.parse(await echo.start()) as { url: string };
    const requests = liveRequests(cluster, options.clientIds);
    const turn = async (url: string, pid: number): Promise<Turn> => {
      const meter = startCpuMeter({ host: pid });
      const { connections, secondsPerTurn: seconds } = options;
      const load = await generate({ url, requests, connections, seconds });
      return { load, cpuMicros: meter() };
    };
    const echoTurn = () => turn(echoUrl, echo.pid);
    const liveTurn = () => turn(cluster.url(options.host), cluster.process(options.host).pid);
    await echoTurn();
    await liveTurn();
    const echoes: Turn[] = [];
    const lives: Turn[] = [];
    for (let count = 0; count < options.turns; count += 1) {
      echoes.push(await echoTurn());
      lives.push(await liveTurn());
    }
    return findings(echoes, lives);
  } finally {
    await echo.kill();
  }
}

function liveRequests(cluster: Cluster, clientIds: readonly string[]): Request[] {
  const { projectId, clients } = cluster.credentials;
  return clientIds.map((id) => ({
    method: 'GET',
    path: `/insights/${projectId}/live`,
    headers: { 'service-client-id': id, 'service-client-secret': clients.read.secret },
    body: '',
  }));
}

function findings(echoes: readonly Turn[], lives: readonly Turn[]): LiveFindings {
  const rates = (turns: readonly Turn[]) => turns.map(({ load }) => load.ratePerSec);
  const cpuOf = (turns: readonly Turn[]) =>
    rounded(median(turns.map(({ load, cpuMicros }) => (cpuMicros.host ?? 0) / load.accepted)));
  const ratio = median(rates(lives)) / median(rates(echoes));
  return {
    ratio,
    failed: [...echoes, ...lives].reduce((sum, { load }) => sum + load.failed, 0),
    figures: {
      liveRatio: rounded(ratio),
      echoPerSec: rates(echoes).map(Math.round),
      livePerSec: rates(lives).map(Math.round),
      echoSpread: rounded(spread(rates(echoes))),
      liveSpread: rounded(spread(rates(lives))),
      liveP50Ms: median(lives.map(({ load }) => load.p50Ms)),
      liveP99Ms: median(lives.map(({ load }) => load.p99Ms)),
      // Below 0.9 the generator was the limit and not the echo, which flatters the ratio: then read the CPU time.
      echoBusyShare: rounded(
        median(echoes.map(({ load, cpuMicros }) => (cpuMicros.host ?? 0) / (load.seconds * 1_000_000))),
      ),
      cpuMicrosPerRequest: { echo: cpuOf(echoes), live: cpuOf(lives) },
    },
  };
}
