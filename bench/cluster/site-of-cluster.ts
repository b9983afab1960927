import {
  CONTROL_BUCKET,
  encodeRecord,
  type Site,
  siteKeyOf,
  siteSchema,
} from '../../infra/accounts/accounts.ts';
import { Bus } from '../../infra/bus/bus.ts';
import { createLogger } from '../../infra/log.ts';
import { waitFor } from './child-process.ts';
import type { Cluster } from './cluster.ts';

const SITE = 'demo';
const WAIT_MAX_MS = 20_000;

export const BROWSER =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36';
/** A page of the site, once `changeSite` allows its origin. */
export const PAGE_ORIGIN = 'https://shop.example';

/** A status with headers and body; every body of the service is JSON. */
export interface Answered {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** An exported event with every field group included. */
export interface Exported {
  readonly name: string;
  readonly sessionId: string;
  readonly deviceId: string;
  readonly profileId: string;
  readonly revenue: number | null;
  readonly currency: string;
  readonly orderId: string;
  readonly [column: string]: unknown;
}

export type Profile = Answered['body'] & { readonly properties: Readonly<Record<string, string>> };

/** Sends to one host of a cluster like the site's programs and pages do, and reads back the stored data. */
export class SiteOfCluster {
  readonly #cluster: Cluster;
  readonly #host: string;
  #devices = 0;

  constructor(cluster: Cluster, host: string) {
    this.#cluster = cluster;
    this.#host = host;
  }

  async exchange(path: string, init: RequestInit): Promise<Answered> {
    const response = await fetch(this.#cluster.url(this.#host) + path, init);
    return { status: response.status, body: (await response.json()) as Answered['body'] };
  }

  post(path: string, body: unknown, headers: Readonly<Record<string, string>>): Promise<Answered> {
    const sent = { 'content-type': 'application/json', ...headers };
    return this.exchange(path, { method: 'POST', headers: sent, body: JSON.stringify(body) });
  }

  /** Sends as a program of the site's owner. */
  send(type: string, payload: object, headers: Readonly<Record<string, string>> = {}): Promise<Answered> {
    return this.post('/track', { type, payload }, { ...this.secret, ...headers });
  }

  /** Sends as a page of the site in a browser. */
  browse(type: string, payload: object, headers: Readonly<Record<string, string>> = {}): Promise<Answered> {
    const { id } = this.#cluster.credentials.clients.write;
    const page = { 'openpanel-client-id': id, origin: PAGE_ORIGIN, 'user-agent': BROWSER };
    return this.post('/track', { type, payload }, { ...page, ...headers });
  }

  /** The headers of the write client. */
  get secret(): Readonly<Record<string, string>> {
    const { id, secret } = this.#cluster.credentials.clients.write;
    return { 'service-client-id': id, 'service-client-secret': secret };
  }

  ask(path: string): Promise<Answered> {
    const { id, secret } = this.#cluster.credentials.clients.read;
    return this.exchange(path, { headers: { 'service-client-id': id, 'service-client-secret': secret } });
  }

  askProfile(id: string): Promise<Answered> {
    return this.ask(`/insights/${SITE}/profiles/${encodeURIComponent(id)}`);
  }

  async events(query: string): Promise<readonly Exported[]> {
    const includes = 'properties,referrer,geo,device,revenue,utm,sdk';
    const { body } = await this.ask(`/export/events?limit=1000&includes=${includes}&${query}`);
    return body.data as readonly Exported[];
  }

  /** Waits until this many events match `query`, and `device` where it is given. */
  eventsOnceThere(query: string, count: number, device?: string): Promise<readonly Exported[]> {
    return eventually(`${count} events of ${query}`, async () => {
      const found = await this.events(query);
      const wanted = found.filter(({ deviceId }) => device === undefined || deviceId === device);
      return wanted.length === count ? wanted : undefined;
    });
  }

  /** Changes the site's record, as its owner would. */
  async change(fields: Partial<Site>): Promise<void> {
    const bus = await Bus.connect(
      { url: this.#cluster.busUrl, name: 'test' },
      createLogger('test', 'silent'),
    );
    const bucket = await bus.keyed(CONTROL_BUCKET);
    const stored = await bucket.get(siteKeyOf(SITE));
    const before = siteSchema.parse(JSON.parse(Buffer.from(stored?.bytes ?? []).toString('utf8')));
    await bucket.put(siteKeyOf(SITE), encodeRecord({ ...before, ...fields }), stored?.revision ?? 0);
    await bus.close();
  }

  /** A device that no other test uses. */
  freshDevice(): string {
    this.#devices += 1;
    return `device-${this.#devices}`;
  }
}

/** Polls until there is a result. */
export async function eventually<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  let found: T | undefined;
  await waitFor(
    what,
    async () => {
      found = await look();
      return found !== undefined;
    },
    WAIT_MAX_MS,
  );
  return found as T;
}
