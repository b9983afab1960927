import { expect } from 'vitest';
import { must } from '../../infra/assert.ts';
import { waitFor } from '../cluster/child-process.ts';
import { Client, type Credential } from '../cluster/client.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { ManageClient } from '../cluster/manage-client.ts';

const PURGE_MAX_MS = 120_000;
/** They are live all the time. */
export const VISITORS = 12;
/** The answer of `live` about the site while all of them are live. */
export const LIVE: string = `200 {"visitors":${VISITORS}}`;

/** A separate site with visitors that are live now. */
export class VisitedSite {
  readonly #cluster: Cluster;
  readonly #client = new Client(2);
  #site: { readonly id: string; readonly client: Credential } | undefined;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  async make(): Promise<void> {
    const manage = new ManageClient(this.#cluster, 'web', this.#client);
    const domain = 'https://visited.example';
    this.#site = await manage.ask('POST', 'projects', { name: 'visited', domain });
    await this.visit('/');
  }

  /** Each visitor views a page. */
  async visit(path: string): Promise<void> {
    for (let visitor = 0; visitor < VISITORS; visitor += 1) {
      const properties = { __deviceId: `visitor-${visitor}`, __path: `https://visited.example${path}` };
      const body = JSON.stringify({ type: 'track', payload: { name: 'screen_view', properties } });
      const { client: writer } = must(this.#site, 'site');
      const answer = await this.#client.post(`${this.#cluster.url('web')}/track`, writer, {}, body);
      expect(answer.status).toBe(200);
    }
  }

  /** Figures that only the memory of the lanes answers. */
  async figures(): Promise<unknown> {
    const url = `${this.#cluster.url('web')}/insights/${must(this.#site, 'site').id}/metrics?range=lastHour`;
    const answer = await this.#client.get(url, this.#cluster.credentials.clients.root);
    const { metrics } = answer.body as { metrics: Record<string, unknown> };
    const { unique_visitors, total_sessions, total_screen_views, bounce_rate } = metrics;
    return { unique_visitors, total_sessions, total_screen_views, bounce_rate };
  }

  /** Asks how many visitors are live. */
  async live(): Promise<string> {
    const { root } = this.#cluster.credentials.clients;
    const headers = { 'openpanel-client-id': root.id, 'openpanel-client-secret': root.secret };
    const signal = AbortSignal.timeout(30_000);
    const url = `${this.#cluster.url('web')}/insights/${must(this.#site, 'site').id}/live`;
    const answer = await fetch(url, { headers, signal });
    return `${answer.status} ${await answer.text()}`;
  }

  /** Deletes it, which needs an answer of every lane. */
  async remove(): Promise<void> {
    const manage = new ManageClient(this.#cluster, 'web', this.#client);
    const path = `projects/${must(this.#site, 'site').id}`;
    await manage.ask('DELETE', `${path}?now=true`);
    const isPurged = async () => {
      const { deletion } = await manage.ask<{ deletion: { status: string } }>('GET', path);
      return deletion.status === 'purged';
    };
    await waitFor('the purge', isPurged, PURGE_MAX_MS);
  }

  close(): void {
    this.#client.close();
  }
}
