import { randomUUID } from 'node:crypto';
import {
  CONTROL_BUCKET,
  clientKeyOf,
  clientSchema,
  encodeRecord,
  siteKeyOf,
  siteSchema,
  teamKeyOf,
} from '../../infra/accounts/accounts.ts';
import { must } from '../../infra/assert.ts';
import { Bus } from '../../infra/bus/bus.ts';
import { createLogger } from '../../infra/log.ts';
import { storedId } from '../../infra/testing/ids.ts';
import type { Credential } from './client.ts';
import type { Groundwork } from './cluster.ts';

/** The root client of each team, by the team. */
export type RootClients = ReadonlyMap<string, Credential>;

/**
 * Adds sites like the first one to a cluster. A missing team is created with a root client, which has the secret of the first
 * team's root client.
 * @param teams the sites by their teams
 */
export async function addTeams(
  { busUrl, credentials }: Groundwork,
  teams: Readonly<Record<string, readonly string[]>>,
): Promise<RootClients> {
  const { projectId, teamId, clients } = credentials;
  const bus = await Bus.connect({ url: busUrl, name: 'bench' }, createLogger('bench', 'silent'));
  const bucket = await bus.keyed(CONTROL_BUCKET);
  const recordOf = async (key: string): Promise<unknown> => {
    const { bytes } = must(await bucket.get(key), `no record ${key}`);
    return JSON.parse(Buffer.from(must(bytes, `${key} was removed`)).toString('utf8'));
  };
  const site = siteSchema.parse(await recordOf(siteKeyOf(projectId)));
  const root = clientSchema.parse(await recordOf(clientKeyOf(clients.root.id)));
  const roots = new Map<string, Credential>([[teamId, clients.root]]);
  for (const [team, ids] of Object.entries(teams)) {
    if (!roots.has(team)) {
      const id = randomUUID();
      const { createdAt } = site;
      await bucket.put(teamKeyOf(team), encodeRecord({ id: team, name: team, createdAt }), 0);
      await bucket.put(clientKeyOf(id), encodeRecord({ ...root, id, teamId: team }), 0);
      roots.set(team, { id, secret: clients.root.secret });
    }
    for (const id of ids)
      await bucket.put(siteKeyOf(id), encodeRecord({ ...site, id, storedId: storedId(id), teamId: team }), 0);
  }
  await bus.close();
  return roots;
}
