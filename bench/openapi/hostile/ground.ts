import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ClickHouseClient } from '@clickhouse/client';
import { must } from '../../../infra/assert.ts';
import { projectRoot } from '../../../infra/root.ts';
import { EVENTS_TABLE } from '../../../processor/rows.ts';
import { waitFor } from '../../cluster/child-process.ts';
import { Client } from '../../cluster/client.ts';
import { Cluster } from '../../cluster/cluster.ts';
import { fuzz } from '../fuzz.ts';
import type { Law } from '../judge.ts';
import { KnownThings } from '../known.ts';
import type { Cast } from '../requests.ts';
import { lawOf, type MadeSite, SiteMaker } from '../site-maker.ts';
import { COLLECTABLE, ProcessMeter } from './cost.ts';
import type { HostileSources } from './drafts.ts';

const WEB = 'web';
const PROCESSOR = 'processor';
const HISTORY_EVENTS = 300;
/** Good and mutated requests of each operation before the first hostile one: code that never ran is slower. */
const WARM_EACH = 2;
const STORED_MAX_MS = 45_000;

interface Parts {
  readonly cluster: Cluster;
  readonly client: Client;
  readonly law: Law;
  readonly sources: HostileSources;
  readonly home: MadeSite;
}

/** A service with a site, things and clients of every kind, to which hostile requests are sent. */
export class Ground {
  readonly law: Law;
  readonly sources: HostileSources;
  readonly #cluster: Cluster;
  readonly #client: Client;
  readonly #home: MadeSite;
  readonly #store: ClickHouseClient;
  #controls = 0;

  private constructor({ cluster, client, law, sources, home }: Parts) {
    this.law = law;
    this.sources = sources;
    this.#cluster = cluster;
    this.#client = client;
    this.#home = home;
    this.#store = cluster.openStore();
  }

  static async open(): Promise<Ground> {
    const cluster = await Cluster.start({
      hosts: { [WEB]: ['ingest', 'query'] },
      processors: [PROCESSOR],
      withStore: true,
      nodeArguments: COLLECTABLE,
      env: {
        LOG_LEVEL: 'warn',
        FLUSH_INTERVAL_MS: '500',
        QUERY_LIMIT_PER_10_S: '0',
        MANAGE_LIMIT_PER_10_S: '0',
        SITES_PER_TEAM_MAX: '100000',
        CLIENTS_PER_TEAM_MAX: '100000',
        SECRETS_KEY: '5'.repeat(64),
        // Tests of buckets connect to nothing.
        ENDPOINTS_ALLOWED: 'none',
        // A busy process rejects waiting requests; here every repeat of a slow request has to be read.
        REQUEST_WAIT_MAX_MS: '0',
        // So that the header is read, which only a trusted proxy may send.
        TRUSTED_PROXIES: '127.0.0.0/8',
        CLIENT_IP_HEADER: 'forwarded',
      },
    });
    try {
      await cluster.ready(WEB);
      const client = new Client(8);
      const maker = new SiteMaker(cluster, WEB, client);
      const url = cluster.url(WEB);
      const law = await lawOf(url, { limited: false });
      const home = await maker.site('Home');
      await maker.sendHistory(home, HISTORY_EVENTS);
      await waitFor('a session', async () => (await maker.sessionOf(home)) !== undefined, 30_000);
      const sessionId = must(await maker.sessionOf(home), 'a session');
      const token = await maker.sharedLink(home);
      const cast: Cast = {
        root: cluster.credentials.clients.root,
        write: home.write,
        read: home.read,
        cookie: await maker.signedIn(home.read),
        foreign: await maker.foreignRoot(),
        decoys: [await maker.client('read', home.id)],
      };
      const files = readdirSync(join(projectRoot, 'dist/query/dashboard/files'));
      const known = new KnownThings(law.operations, [
        { projectId: home.id },
        { projectId: home.id, profileId: 'user-1' },
        { projectId: home.id, groupId: 'group-1' },
        { projectId: home.id, sessionId },
        { token },
        { file: must(files[0], 'a file of the dashboard') },
      ]);
      const warm = { requests: 0, eachOperation: WARM_EACH, eachQuestion: WARM_EACH, inFlight: 8, seed: 1 };
      await fuzz({ law, known, cast, site: home.id, url, ...warm, say: () => {}, breachesMax: Infinity });
      const viewToken = await viewTokenOf(url, token);
      const sources = { named: law.named, known, cast, site: home.id, viewToken };
      return new Ground({ cluster, client, law, sources, home });
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  get url(): string {
    return this.#cluster.url(WEB);
  }

  get meter(): ProcessMeter {
    return new ProcessMeter(this.#cluster.process(WEB).pid);
  }

  /** True if the answering process is the one that was started. */
  get isUp(): boolean {
    return this.#cluster.process(WEB).running;
  }

  /** Starts the process that answers again, ending it first if it runs and does not answer. */
  async restart(): Promise<void> {
    await this.#cluster.kill(WEB);
    await this.#cluster.process(WEB).start();
    await this.#cluster.ready(WEB);
  }

  /** True if an event sent now is soon stored: a lane that cannot flush still answers from memory. */
  async works(): Promise<boolean> {
    this.#controls += 1;
    const name = `control-${this.#controls}`;
    const { write, id } = this.#home;
    const body = JSON.stringify({ type: 'track', payload: { name, properties: { __deviceId: name } } });
    const sent = async () => {
      const answer = await this.#client.post(`${this.url}/track`, write, {}, body).catch(() => undefined);
      return answer?.status === 200;
    };
    const stored = async () => {
      const query = `SELECT 1 FROM ${EVENTS_TABLE} WHERE projectId = {id:String} AND name = {name:String} LIMIT 1`;
      const rows = await this.#store.query({ query, query_params: { id, name }, format: 'JSONEachRow' });
      return (await rows.json()).length === 1;
    };
    try {
      await waitFor('the event is sent', sent, STORED_MAX_MS);
      await waitFor('the event is stored', stored, STORED_MAX_MS);
      return this.#cluster.process(PROCESSOR).running;
    } catch {
      return false;
    }
  }

  async stop(): Promise<void> {
    this.#client.close();
    await this.#store.close();
    await this.#cluster.stop();
  }
}

/** The view token of a browser that opens a link. */
async function viewTokenOf(url: string, token: string): Promise<string> {
  const headers = { 'content-type': 'application/json' };
  const opened = await fetch(`${url}/shared/${token}/open`, { method: 'POST', headers, body: '{}' });
  const { viewToken } = (await opened.json()) as { readonly viewToken?: string };
  return must(viewToken, `no view token: ${opened.status}`);
}
