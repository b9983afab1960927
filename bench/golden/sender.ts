import { z } from 'zod';
import { Client } from '../cluster/client.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { ORIGINS } from './fixtures.ts';
import type { Sent } from './visits.ts';

const BATCH = 120;
const AT_ONCE = 4;
/** Bodies of a user agent that are sent one by one, before its batches. */
const SINGLE = 5;
const counted = z.object({ accepted: z.number(), rejected: z.array(z.unknown()) });

/** Sends traffic to hosts in turn, like a program with a secret that forwards browsers' requests. */
export class Sender {
  readonly #cluster: Pick<Cluster, 'url' | 'credentials'>;
  readonly #hosts: readonly string[];
  readonly #atOnce: number;
  #requests = 0;

  /** @param atOnce how many requests are under way; with one, everything arrives in the order in which it is given */
  constructor(cluster: Pick<Cluster, 'url' | 'credentials'>, hosts: readonly string[], atOnce = AT_ONCE) {
    this.#cluster = cluster;
    this.#hosts = hosts;
    this.#atOnce = atOnce;
  }

  /** Resolves when everything is acknowledged; throws when something is not. */
  async send(sent: readonly Sent[]): Promise<void> {
    // The other side closes idle connections, so each sending has its own.
    const client = new Client(this.#atOnce);
    await this.#sendAtOnce(
      client,
      sent.filter(({ isPayment }) => !isPayment),
    );
    await this.#sendAtOnce(
      client,
      sent.filter(({ isPayment }) => isPayment),
    );
    client.close();
  }

  /** One event that happens now, from a visitor's browser without a secret. */
  async browse(site: string, agent: string, payload: object): Promise<void> {
    const headers = { 'user-agent': agent, origin: ORIGINS[0] };
    const body = { type: 'track', projectId: site, payload };
    const client = new Client(1);
    const named = { ...headers, 'service-client-id': this.#root.id };
    const { status, body: answer } = await this.#exchange(client, '/track', named, body);
    client.close();
    if (status !== 200) throw new Error(`/track: ${status} ${JSON.stringify(answer)}`);
  }

  get #root() {
    return this.#cluster.credentials.clients.root;
  }

  async #sendAtOnce(client: Client, sent: readonly Sent[]): Promise<void> {
    const requests: (() => Promise<void>)[] = [];
    for (const agent of new Set(sent.map((each) => each.agent))) {
      const bodies = sent.filter((each) => each.agent === agent).map(({ body }) => body);
      for (const body of bodies.slice(0, SINGLE)) requests.push(() => this.#one(client, agent, body));
      for (let from = SINGLE; from < bodies.length; from += BATCH) {
        requests.push(() => this.#batch(client, agent, bodies.slice(from, from + BATCH)));
      }
    }
    const lane = async () => {
      for (let next = requests.shift(); next !== undefined; next = requests.shift()) await next();
    };
    await Promise.all(Array.from({ length: this.#atOnce }, lane));
  }

  async #one(client: Client, agent: string, body: object): Promise<void> {
    const { status, body: answer } = await this.#exchange(client, '/track', this.#headers(agent), body);
    if (status !== 200)
      throw new Error(`/track: ${status} ${JSON.stringify(answer)} to ${JSON.stringify(body)}`);
  }

  async #batch(client: Client, agent: string, bodies: readonly object[]): Promise<void> {
    const answer = await this.#exchange(client, '/track/batch', this.#headers(agent), bodies);
    const { rejected } = answer.status === 200 ? counted.parse(answer.body) : { rejected: [answer] };
    if (rejected.length > 0) throw new Error(`/track/batch: ${JSON.stringify(rejected.slice(0, 3))}`);
  }

  #headers(agent: string) {
    const { id, secret } = this.#root;
    return { 'user-agent': agent, 'service-client-id': id, 'service-client-secret': secret };
  }

  #exchange(client: Client, path: string, headers: Readonly<Record<string, string>>, body: unknown) {
    const host = this.#hosts[this.#requests % this.#hosts.length] ?? '';
    this.#requests += 1;
    const sent = { 'content-type': 'application/json', ...headers };
    return client.exchange('POST', this.#cluster.url(host) + path, sent, Buffer.from(JSON.stringify(body)));
  }
}
