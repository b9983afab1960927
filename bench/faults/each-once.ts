import { expect } from 'vitest';
import type { Cluster } from '../cluster/cluster.ts';
import type { Traffic } from '../traffic/traffic.ts';
import { audit, type Outage } from './audit.ts';

/** Ends persistent traffic, and expects that nothing was refused and that every acknowledged event is stored once. `host` answers questions. */
export async function expectEachOnce(
  cluster: Cluster,
  traffic: Traffic,
  host: string,
  outages: readonly Outage[],
): Promise<void> {
  const ledger = await traffic.stop();
  // A request that waited for too long while a processor was dead was sent again, and the audit shows that it counts once.
  const refused = [...ledger.rejects.keys()].filter((why) => !why.startsWith('connection: no answer'));
  expect(refused).toEqual([]);
  const { acknowledged, stored, differences } = await audit(cluster, ledger, host, outages);
  expect(differences).toEqual([]);
  expect(stored).toBe(acknowledged);
}
