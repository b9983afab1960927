import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { must } from '../../../infra/assert.ts';
import { S3_KEY, type S3Server, startS3 } from '../../../infra/testing/s3-server.ts';
import { CLIENT, GoogleServer } from '../../../processor/search-console/testing/google-server.ts';
import { Client } from '../../cluster/client.ts';
import { Cluster } from '../../cluster/cluster.ts';
import { ManageClient } from '../../cluster/manage-client.ts';
import { sendEvents } from '../../dashboard/sent-visits.ts';
import { PEOPLE, SEARCH_ROWS, SITE, shopVisits } from './shop.ts';
import type { Replacement } from './stable.ts';

/** The time of day of the service at its start. */
export const START_MS = Date.parse('2026-01-05T09:00:00Z');
/** A file that gives the program that loads it this time of day. */
const CLOCK = pathToFileURL(join(import.meta.dirname, 'set-clock.mjs')).href;
/** Days that the search engine answers before it is slow: the three newest, and some of the days before. */
const SEARCHED_DAYS = 12;
const BUCKET = 'shop-events';

/** A whole service with the site and the visits of a shop, beside a bucket and a search engine. */
export class ShopService implements AsyncDisposable {
  readonly cluster: Cluster;
  readonly #google: GoogleServer;
  readonly #s3: S3Server;

  private constructor(parts: { cluster: Cluster; google: GoogleServer; s3: S3Server }) {
    this.cluster = parts.cluster;
    this.#google = parts.google;
    this.#s3 = parts.s3;
  }

  static async start(): Promise<ShopService> {
    const [google, s3] = await Promise.all([GoogleServer.start(), startS3({ buckets: [BUCKET] })]);
    google.rowFaults.push(...Array.from({ length: SEARCHED_DAYS }, () => undefined), 'hang');
    const cluster = await Cluster.start({
      hosts: { web: ['ingest', 'query'] },
      processors: ['processor'],
      withStore: true,
      env: {
        LOG_LEVEL: 'warn',
        QUERY_LIMIT_PER_10_S: '0',
        MANAGE_LIMIT_PER_10_S: '0',
        SECRETS_KEY: 'ab'.repeat(32),
        FLUSH_INTERVAL_MS: '150',
        DELIVERY_INTERVAL_MS: '200',
        ENDPOINTS_ALLOWED: '127.0.0.1',
        GOOGLE_API_URL: google.url,
        // The store's own clock is right, so it would remove rollups as too old.
        ROLLUP_INTERVAL_MS: '3600000',
      },
      nodeArguments: ['--import', `${CLOCK}?ahead=${START_MS - Date.now()}`],
    });
    await cluster.ready('web');
    const service = new ShopService({ cluster, google, s3 });
    await service.#fill();
    return service;
  }

  get url(): string {
    return this.cluster.url('web');
  }

  /** Values that requests name in braces. */
  get names(): Readonly<Record<string, string>> {
    const { root, read, write } = this.cluster.credentials.clients;
    const log = readFileSync(join(this.cluster.folder, 'logs/first-start.log'), 'utf8');
    return {
      signInLink: must(/"signIn":"(?:[^"]*[#/=])?([\w-]{43})"/.exec(log)?.[1], 'the first start made a link'),
      writeClient: write.id,
      rootClient: root.id,
      rootSecret: root.secret,
      readClient: read.id,
      readSecret: read.secret,
      googleClient: CLIENT.id,
      googleSecret: CLIENT.secret,
      googleToken: CLIENT.refreshToken,
      storage: this.#s3.endpoint,
      storageKey: S3_KEY.accessKeyId,
      storageSecret: S3_KEY.secretAccessKey,
    };
  }

  /** Replaces the addresses and keys of this run by documented ones. */
  get replacements(): readonly Replacement[] {
    const { busUrl, storeUrl } = this.cluster;
    return [
      // An address reserved for documentation, so that requests copied from it reach no real host.
      [new URL(this.#s3.endpoint).host, '192.0.2.10:9000'],
      [new URL(busUrl).host, '127.0.0.1:4222'],
      [new URL(storeUrl).host, '127.0.0.1:8123'],
      [S3_KEY.accessKeyId, 'AKIAEXAMPLE'],
      [CLIENT.id, '123456.apps.shop.example'],
      [CLIENT.secret, 'the secret of the client'],
      [CLIENT.refreshToken, 'the refresh token'],
    ];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cluster.stop();
    await Promise.all([this.#google.stop(), this.#s3.stop()]);
  }

  async #fill(): Promise<void> {
    const client = new Client(1);
    const manage = new ManageClient(this.cluster, 'web', client);
    await manage.ask('PATCH', 'projects/demo', SITE);
    await manage.ask('POST', 'projects/demo/gsc/rows', { rows: SEARCH_ROWS });
    const { write } = this.cluster.credentials.clients;
    const { status } = await client.post(`${this.url}/track/batch`, write, {}, JSON.stringify(PEOPLE));
    if (status !== 200) throw new Error(`/track/batch: ${status}`);
    client.close();
    await sendEvents(this.cluster, 'web', shopVisits());
  }
}
