import { type Client, rejectOf } from './client.ts';
import type { Cluster } from './cluster.ts';

/** Manages a cluster as the root client of its first team. */
export class ManageClient {
  readonly #cluster: Cluster;
  readonly #host: string;
  readonly #client: Client;

  constructor(cluster: Cluster, host: string, client: Client) {
    this.#cluster = cluster;
    this.#host = host;
    this.#client = client;
  }

  /** Sends a request to a path below `/manage/`; throws unless it succeeds. Returns `data` of the answer. */
  async ask<Data>(method: string, path: string, body?: object): Promise<Data> {
    const { id, secret } = this.#cluster.credentials.clients.root;
    const headers = {
      'service-client-id': id,
      'service-client-secret': secret,
      'content-type': 'application/json',
    };
    const bytes = body === undefined ? '' : Buffer.from(JSON.stringify(body));
    const url = `${this.#cluster.url(this.#host)}/manage/${path}`;
    const answer = await this.#client.exchange(method, url, headers, bytes);
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${rejectOf(answer)}`);
    return (answer.body as { data: Data }).data;
  }
}
