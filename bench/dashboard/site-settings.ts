import { DAY_MS } from '../../infra/durations.ts';
import type { Cluster } from '../cluster/cluster.ts';

/** Sends a manage request; throws any answer other than 200. */
export async function manage(
  cluster: Cluster,
  method: string,
  path: string,
  body?: object,
): Promise<unknown> {
  const { id, secret } = cluster.credentials.clients.root;
  const response = await fetch(`${cluster.url('web')}/manage/${path}`, {
    method,
    headers: {
      'content-type': 'application/json',
      'service-client-id': id,
      'service-client-secret': secret,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} /manage/${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

/** Adds a site without events and clients. */
export async function addEmptySite(cluster: Cluster): Promise<void> {
  const made = await manage(cluster, 'POST', 'projects', {
    name: 'Empty',
    timezone: 'Europe/Berlin',
    currency: 'EUR',
  });
  const { client } = (made as { readonly data: { readonly client: { readonly id: string } } }).data;
  await manage(cluster, 'DELETE', `clients/${client.id}`);
}

/** Adds a date to mark on charts, `daysAgo` days before now. */
export async function addReference(cluster: Cluster, title: string, daysAgo: number): Promise<void> {
  const date = new Date(Date.now() - daysAgo * DAY_MS).toISOString();
  await manage(cluster, 'POST', 'references', { projectId: 'demo', title, date });
}

/** Adds a dashboard with these reports; the last one comes first. */
export async function addReports(cluster: Cluster, reports: readonly object[]): Promise<void> {
  const board = await manage(cluster, 'POST', 'projects/demo/dashboards', { name: 'Growth' });
  const { id } = (board as { readonly data: { readonly id: string } }).data;
  for (const report of reports)
    await manage(cluster, 'POST', `projects/demo/dashboards/${id}/reports`, report);
}
