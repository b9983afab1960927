import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { must } from '../../infra/assert.ts';
import { projectRoot } from '../../infra/root.ts';
import type { OpenApiDocument } from '../../query/openapi/open-api.ts';
import { type Answer, type Client, type Credential, rejectOf } from '../cluster/client.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { Law } from './judge.ts';
import { credentialIn } from './known.ts';
import { operationsIn } from './operations.ts';
import { schemaCheck } from './schemas.ts';

const run = promisify(execFile);

/** A site with a client for its pages and one for its questions. */
export interface MadeSite {
  readonly id: string;
  readonly write: Credential;
  readonly read: Credential;
}

/** The description that a host serves, as the rules for its answers. */
export async function lawOf(url: string, { limited }: { readonly limited: boolean }): Promise<Law> {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as OpenApiDocument;
  const named = document.components.schemas;
  return { operations: operationsIn(document), named, schemaBreaches: schemaCheck(named), limited };
}

/** Makes the sites, clients and events that made requests need, over HTTP. */
export class SiteMaker {
  readonly #cluster: Cluster;
  readonly #url: string;
  readonly #client: Client;

  constructor(cluster: Cluster, host: string, client: Client) {
    this.#cluster = cluster;
    this.#url = cluster.url(host);
    this.#client = client;
  }

  /** The root client of a separate team. */
  async foreignRoot(): Promise<Credential> {
    const program = join(projectRoot, 'dist/query/manage/admin/admin.js');
    const { stdout } = await run(process.execPath, [program, 'team', 'create', 'Strangers', '--json'], {
      env: { ...process.env, NATS_URL: this.#cluster.busUrl, DATA_DIR: this.#cluster.folder },
    });
    return must(credentialIn(JSON.parse(stdout)), `no client in ${stdout}`);
  }

  async site(name: string): Promise<MadeSite> {
    const project = await this.#asRoot('/manage/projects', { name, cors: ['*'] });
    const { id } = (project.body as { data: { id: string } }).data;
    const write = must(credentialIn(project.body), 'a new site has a client');
    return { id, write, read: await this.client('read', id) };
  }

  async client(type: string, projectId: string | null): Promise<Credential> {
    const { body } = await this.#asRoot('/manage/clients', { name: `of ${projectId}`, type, projectId });
    return must(credentialIn(body), 'a new client has a secret');
  }

  /** The cookie of a browser that signs in with this client. */
  async signedIn({ id, secret }: Credential): Promise<string> {
    const body = JSON.stringify({ clientId: id, clientSecret: secret });
    const headers = { 'content-type': 'application/json' };
    const { headers: answered } = await fetch(`${this.#url}/sign-in`, { method: 'POST', headers, body });
    return must(answered.get('set-cookie')?.split(';')[0], 'a sign-in sets a cookie');
  }

  /** The token of a link that shows a site to everyone. */
  async sharedLink({ id }: MadeSite): Promise<string> {
    const { body } = await this.#asRoot('/manage/shares', { projectId: id, name: 'For everyone' });
    return (body as { data: { token: string } }).data.token;
  }

  /** Events of today, with a person and a group to ask about. */
  async sendHistory({ write }: MadeSite, count: number): Promise<void> {
    const events = Array.from({ length: count }, (_, index) => ({
      type: 'track',
      payload: {
        name: index % 3 === 0 ? 'signup' : 'screen_view',
        profileId: 'user-1',
        properties: { __path: `/page-${index % 7}`, __deviceId: `device-${index % 5}`, plan: 'pro' },
      },
    }));
    const others = [
      { type: 'identify', payload: { profileId: 'user-1', firstName: 'Ada' } },
      { type: 'group', payload: { id: 'group-1', type: 'company', name: 'Example' } },
    ];
    const body = JSON.stringify([...events, ...others]);
    const { status, body: answer } = await this.#client.post(`${this.#url}/track/batch`, write, {}, body);
    const { accepted } = answer as { readonly accepted?: number };
    if (accepted !== count + others.length) throw new Error(`${status}: ${JSON.stringify(answer)}`);
  }

  /** The id of one of a site's sessions; undefined as long as it has none. */
  async sessionOf({ id, read }: MadeSite): Promise<string | undefined> {
    const { body } = await this.#client.get(`${this.#url}/insights/${id}/sessions?limit=1`, read);
    return (body as readonly { readonly id: string }[])[0]?.id;
  }

  async #asRoot(path: string, body: unknown): Promise<Answer> {
    const { root } = this.#cluster.credentials.clients;
    const answer = await this.#client.post(this.#url + path, root, {}, JSON.stringify(body));
    if (answer.status !== 200) throw new Error(`${path}: ${rejectOf(answer)}`);
    return answer;
  }
}
