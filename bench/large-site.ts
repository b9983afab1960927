import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { must } from '../infra/assert.ts';
import { Cluster, type Groundwork } from './cluster.ts';
import { PARTITIONS, SESSION_HOLD_MS } from './made-visits.ts';
import { type LoadedSite, loadSite, type SitePlan, siteIn } from './query-site.ts';

/** The host of a large site's cluster. */
export const LARGE_SITE_HOST = 'web';
const SEED = 20_240_503;

export interface LargeSiteOptions {
  readonly events: number;
  /** Where the site is kept for the next run; undefined for a temporary folder. */
  readonly data: string | undefined;
  readonly isTiny: boolean;
  readonly nodeArguments: readonly string[];
}

/** A service with one site that has a year of history, which nobody visits. */
export interface LargeSite {
  readonly cluster: Cluster;
  readonly plan: SitePlan;
  readonly loaded: LoadedSite;
  /** The site was there from a run before. */
  readonly isReused: boolean;
}

/** Starts it, and does not wait until it answers; the caller stops the cluster. `env` stands over the settings; `prepare` runs behind what is loaded. */
export async function startLargeSite(
  { events, data, isTiny, nodeArguments }: LargeSiteOptions,
  env: Readonly<Record<string, string>> = {},
  prepare: (ground: Groundwork) => Promise<void> = async () => {},
): Promise<LargeSite> {
  const plan: SitePlan = { seed: SEED, events, clients: isTiny ? 500 : 5_000 };
  const folder = data === undefined ? undefined : resolve(data);
  if (folder !== undefined) mkdirSync(folder, { recursive: true });
  let site = folder === undefined ? undefined : siteIn(folder, plan);
  const isReused = site !== undefined;
  const cluster = await Cluster.start({
    hosts: { [LARGE_SITE_HOST]: ['ingest', 'query'] },
    processors: ['processor'],
    withStore: true,
    env: {
      LOG_LEVEL: 'warn',
      // What is measured is answering, not counting who asked.
      QUERY_LIMIT_PER_10_S: '0',
      PARTITIONS: String(PARTITIONS),
      SESSION_HOLD_MS: String(SESSION_HOLD_MS),
      ...env,
    },
    nodeArguments,
    folder,
    prepare: async (ground) => {
      site ??= await loadSite(ground, plan, (line) => process.stdout.write(`${line}\n`));
      await prepare(ground);
    },
  });
  return { cluster, plan, loaded: must(site, 'the site was not loaded'), isReused };
}
