import type { Logger } from '../log.ts';
import { acceptCluster } from './cluster.ts';
import { acceptServer } from './server-features.ts';
import { Store, type StoreOptions } from './store.ts';

/**
 * Checks the server and its cluster before anything is made there, and logs the server's version. Our database may not exist yet.
 * @throws {StoreError} fatal: the server is too old, or footfall cannot run on the cluster
 */
export async function checkServer(options: StoreOptions, log: Pick<Logger, 'info'>): Promise<void> {
  const store = new Store({ ...options, database: 'default' });
  try {
    acceptServer(await store.features(), log);
    await acceptCluster(store, options.cluster ?? '');
  } finally {
    await store.close();
  }
}
