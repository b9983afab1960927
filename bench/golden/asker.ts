import { randomUUID } from 'node:crypto';
import {
  CONTROL_BUCKET,
  clientKeyOf,
  clientSchema,
  encodeRecord,
  siteKeyOf,
  siteSchema,
} from '../../infra/accounts/accounts.ts';
import { must } from '../../infra/assert.ts';
import { Bus } from '../../infra/bus/bus.ts';
import { createLogger } from '../../infra/log.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { exportAnswer, groupAnswer, profileAnswer } from '../../query/api.ts';
import { type Answer, Client } from '../cluster/client.ts';
import type { Cluster, Groundwork } from '../cluster/cluster.ts';
import type { KnownEntity } from './filters.ts';
import type { GoldenSite } from './fixtures.ts';
import { type WholeEvent, wholeEvent } from './rows.ts';

/** Clients that ask: each may ask a hundred times in ten seconds. */
const CLIENTS = 24;
const INCLUDES = 'properties,profile,meta,referrer,geo,device,revenue,utm,sdk';
const SENT_NAMES_ONLY = JSON.stringify([
  { name: 'name', operator: 'isNot', value: ['session_start', 'session_end'] },
]);

/** Creates the sites, and root clients that share one secret; returns the clients' ids. */
export async function makeAccounts(
  { busUrl, credentials }: Groundwork,
  sites: readonly GoldenSite[],
): Promise<string[]> {
  const bus = await Bus.connect({ url: busUrl, name: 'golden' }, createLogger('golden', 'silent'));
  const bucket = await bus.keyed(CONTROL_BUCKET);
  const recordOf = async (key: string) =>
    JSON.parse(Buffer.from(must(await bucket.get(key), key).bytes ?? []).toString('utf8'));
  const site = siteSchema.parse(await recordOf(siteKeyOf(credentials.projectId)));
  for (const { id, zone, currency, hashChanges = false } of sites) {
    await bucket.put(
      siteKeyOf(id),
      encodeRecord({
        ...site,
        id,
        storedId: storedId(id),
        timezone: zone,
        currency,
        cors: ['*'],
        tracking: { ...site.tracking, hashChanges },
      }),
      0,
    );
  }
  const root = clientSchema.parse(await recordOf(clientKeyOf(credentials.clients.root.id)));
  const ids = Array.from({ length: CLIENTS }, () => randomUUID());
  for (const id of ids) await bucket.put(clientKeyOf(id), encodeRecord({ ...root, id }), 0);
  await bus.close();
  return ids;
}

/** Asks the hosts in turn, as one client after the other. */
export class Asker {
  readonly #cluster: Cluster;
  readonly #hosts: readonly string[];
  readonly #clientIds: readonly string[];
  readonly #client = new Client(8, 40_000);
  #asked = 0;

  constructor(cluster: Cluster, hosts: readonly string[], clientIds: readonly string[]) {
    this.#cluster = cluster;
    this.#hosts = hosts;
    this.#clientIds = clientIds;
  }

  get(path: string): Promise<Answer> {
    const place = this.#asked;
    this.#asked += 1;
    const host = must(this.#hosts[place % this.#hosts.length], 'a host');
    const id = must(
      this.#clientIds[Math.floor(place / this.#hosts.length) % this.#clientIds.length],
      'a client',
    );
    const { secret } = this.#cluster.credentials.clients.root;
    return this.#client.get(this.#cluster.url(host) + path, { id, secret });
  }

  /** The number of a site's events that clients sent, as the export counts them. */
  async count(site: string): Promise<number> {
    const { body } = await this.get(
      `/export/events?projectId=${site}&limit=1&filters=${encodeURIComponent(SENT_NAMES_ONLY)}`,
    );
    return exportAnswer.parse(body).meta.totalCount;
  }

  /** Every exported event of a site. */
  async events(site: string): Promise<WholeEvent[]> {
    const events: WholeEvent[] = [];
    for (let page = 1; ; page += 1) {
      const { status, body } = await this.get(
        `/export/events?projectId=${site}&limit=1000&page=${page}&includes=${INCLUDES}`,
      );
      if (status !== 200) throw new Error(`export: ${status} ${JSON.stringify(body)}`);
      const { meta, data } = exportAnswer.parse(body);
      events.push(...data.map((event) => wholeEvent.parse(event)));
      if (page >= meta.pages) return events;
    }
  }

  /** The known data of a profile or a group; undefined if there is no such entity. */
  async record(site: string, kind: 'profiles' | 'groups', id: string): Promise<KnownEntity | undefined> {
    const { status, body } = await this.get(`/insights/${site}/${kind}/${encodeURIComponent(id)}`);
    if (status === 404) return undefined;
    if (status !== 200) throw new Error(`${kind} ${id}: ${status} ${JSON.stringify(body)}`);
    const { createdAt, updatedAt, properties, ...fields } =
      kind === 'profiles' ? profileFields(body) : groupFields(body);
    if (createdAt === null || updatedAt === null) return undefined;
    const { groups, ...texts } = fields;
    return { fields: { ...texts, createdAt, updatedAt }, properties, groups };
  }

  close(): void {
    this.#client.close();
  }
}

function groupFields(body: unknown) {
  const { id, type, name, properties, createdAt, updatedAt } = groupAnswer.parse(body);
  return { id, type, name, properties, createdAt, updatedAt, groups: [] };
}

function profileFields(body: unknown) {
  const { events, partial, ...fields } = profileAnswer.parse(body);
  return fields;
}
