import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { must } from '../../infra/assert.ts';
import type { Store } from '../../infra/store/store.ts';
import { Cluster, type Groundwork } from '../cluster/cluster.ts';
import { SESSION_RETAIN_MS } from '../traffic/made-visits.ts';
import { untilMerged, untilRolledUp } from './finalized.ts';
import { type LoadedSite, loadSite, type SitePlan, siteIn } from './query-site.ts';

/** The host of a large site's cluster. */
export const LARGE_SITE_HOST = 'web';
const SEED = 20_240_503;
const ROLLED_UP_MAX_MS = 1_800_000;
const CALM = { calmMs: 10_000, maxMs: 1_200_000 };
/** A tiny site only shows that everything runs through, with or without rollups. */
const TINY_ROLLED_UP_MAX_MS = 3_000;
const TINY_CALM = { calmMs: 500, maxMs: 3_000 };

export interface LargeSiteOptions {
  readonly events: number;
  /** The folder in which the site stays for the next run; undefined for a temporary folder. */
  readonly data: string | undefined;
  readonly isTiny: boolean;
  readonly nodeArguments: readonly string[];
}

/** A service with one site that has a year of history and no visitors. */
export interface LargeSite {
  readonly cluster: Cluster;
  readonly plan: SitePlan;
  readonly loaded: LoadedSite;
  /** The site existed from an earlier run. */
  readonly isReused: boolean;
}

/**
 * Starts the service without waiting until it answers; the caller stops the cluster. `env` overrides the settings;
 * `prepare` runs after the site is loaded.
 */
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
      // Limits are off: the bench measures answering, not counting requests.
      QUERY_LIMIT_PER_10_S: '0',
      ROLLUP_INTERVAL_MS: '1000',
      SESSION_RETAIN_MS: String(SESSION_RETAIN_MS),
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

/** Waits until the store has finished its work on the loaded rows; returns whether it did. */
export async function untilFinalized(
  store: Store,
  { endMs }: LoadedSite,
  isTiny: boolean,
): Promise<{ readonly isRolledUp: boolean; readonly isCalm: boolean }> {
  const isRolledUp = await untilRolledUp(store, endMs, isTiny ? TINY_ROLLED_UP_MAX_MS : ROLLED_UP_MAX_MS);
  const isCalm = await untilMerged(store, isTiny ? TINY_CALM : CALM);
  return { isRolledUp, isCalm };
}
