import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import {
  type Client,
  CONTROL_BUCKET,
  clientKeyOf,
  encodeRecord,
  siteKeyOf,
  siteSchema,
  teamKeyOf,
} from '../../../infra/accounts/accounts.ts';
import { createSecret, hashSecret } from '../../../infra/accounts/client-auth.ts';
import { Bus } from '../../../infra/bus/bus.ts';
import type { KeyedBytes } from '../../../infra/bus/keyed-bytes.ts';
import { ManualClock } from '../../../infra/clock.ts';
import { readConfig } from '../../../infra/config.ts';
import { HttpServer } from '../../../infra/http/http.ts';
import { createLogger, type Logger } from '../../../infra/log.ts';
import { Metrics } from '../../../infra/metrics.ts';
import { ServiceLanes } from '../../../infra/process/service-lanes.ts';
import { startNatsServer } from '../../../infra/testing/nats-server.ts';
import { mount } from '../../main.ts';
import { clientWithSecret } from '../client-api.ts';
import { projectAnswer, projectCreated } from '../project-api.ts';

export const STARTED_AT_MS = Date.UTC(2026, 2, 1, 12);
/** The key with which the service seals secrets. */
export const SECRETS_KEY = '0123456789abcdef'.repeat(4);

/** The id and secret of a client. */
export interface ClientKey {
  readonly id: string;
  readonly secret: string;
}

/** The response to one request. */
export interface ManageAnswer {
  readonly status: number;
  readonly text: string;
  readonly json: unknown;
  readonly etag: string;
  readonly headers: Headers;
}

export interface Sent {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The base URL of another server; default: the first. */
  readonly baseUrl?: string;
}

/** The real query service on a real bus with a manual clock and without a store, with helpers to manage it. */
export interface ManageService {
  readonly clock: ManualClock;
  readonly bus: Bus;
  readonly natsUrl: string;
  readonly control: KeyedBytes;
  /** The text of every response so far. */
  readonly answers: readonly string[];
  /** The root client of each requested team. */
  readonly roots: Readonly<Record<string, ClientKey>>;
  /** Starts another server on its own connection; returns its base URL. */
  serve(): Promise<string>;
  ask(key: ClientKey | undefined, method: string, path: string, sent?: Sent): Promise<ManageAnswer>;
  /** The same, but requires status 200 and a response of this schema. */
  read<Shown>(
    schema: z.ZodType<Shown>,
    key: ClientKey,
    method: string,
    path: string,
    sent?: Sent,
  ): Promise<Shown>;
  /** Creates a site in the client's team; returns its id and write client. */
  makeSite(key: ClientKey, name: string): Promise<{ readonly id: string; readonly write: ClientKey }>;
  makeClient(key: ClientKey, client: Pick<Client, 'type' | 'projectId'>): Promise<ClientKey>;
  /** Writes the record that a purge leaves of a site. Resolves once the first server has received it. */
  purge(key: ClientKey, siteId: string): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts the service with these teams, each with a root client. `env` overrides settings; `log` defaults to a silent
 * one.
 */
export async function startManageService(
  teams: readonly string[],
  env: Readonly<Record<string, string>> = {},
  log: Logger = createLogger('test', 'silent'),
): Promise<ManageService> {
  const clock = new ManualClock(STARTED_AT_MS);
  const nats = await startNatsServer();
  const bus = await Bus.connect({ url: nats.url, name: 'test' }, log);
  const control = await bus.keyed(CONTROL_BUCKET);
  const config = readConfig({
    NATS_URL: nats.url,
    CLICKHOUSE_URL: 'http://127.0.0.1:1',
    MANAGE_LIMIT_PER_10_S: '0',
    QUERY_LIMIT_PER_10_S: '0',
    SECRETS_KEY,
    ...env,
  });
  const stops: (() => Promise<void>)[] = [];
  const answers: string[] = [];
  const roots: Record<string, ClientKey> = {};
  for (const team of teams) roots[team] = await storeTeam(control, team);

  const serve = async () => {
    const own = await Bus.connect({ url: nats.url, name: 'query' }, log);
    const http = new HttpServer((error) => {
      throw error;
    });
    const metrics = new Metrics();
    const mounted = await mount({
      config,
      log,
      metrics,
      bus: own,
      http,
      clock,
      crashPoint: () => {},
      lanes: ServiceLanes.fixed(1),
    });
    stops.push(async () => {
      await mounted.stop();
      http.close();
      await own.close();
    });
    return `http://127.0.0.1:${await http.listen('127.0.0.1', 0)}`;
  };
  const firstUrl = await serve();

  const ask: ManageService['ask'] = async (key, method, path, { body, headers, baseUrl = firstUrl } = {}) => {
    const response = await fetch(baseUrl + path, {
      method,
      headers: {
        ...(key === undefined ? {} : { 'service-client-id': key.id, 'service-client-secret': key.secret }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    answers.push(text);
    return {
      status: response.status,
      text,
      json: JSON.parse(text),
      etag: response.headers.get('etag') ?? '',
      headers: response.headers,
    };
  };
  const read: ManageService['read'] = async (schema, key, method, path, sent) => {
    const { status, text, json } = await ask(key, method, path, sent);
    if (status !== 200) throw new Error(`${method} ${path}: ${text}`);
    return schema.parse(json);
  };
  return {
    clock,
    bus,
    natsUrl: nats.url,
    control,
    answers,
    roots,
    serve,
    ask,
    read,
    makeSite: async (key, name) => {
      const { data } = await read(projectCreated, key, 'POST', '/manage/projects', { body: { name } });
      const { id, client } = data;
      return { id, write: { id: client.id, secret: client.secret } };
    },
    makeClient: async (key, { type, projectId }) => {
      const body = { name: type, type, projectId };
      const { data } = await read(clientWithSecret, key, 'POST', '/manage/clients', { body });
      return { id: data.id, secret: data.secret };
    },
    purge: async (key, siteId) => {
      await ask(key, 'DELETE', `/manage/projects/${siteId}?now=true`);
      const stored = await control.get(siteKeyOf(siteId));
      if (stored?.bytes === undefined) throw new Error(`there is no site ${siteId}`);
      const site = siteSchema.parse(JSON.parse(Buffer.from(stored.bytes).toString('utf8')));
      if (site.deletion === null) throw new Error(`the site ${siteId} is not deleted`);
      const deletion = { ...site.deletion, status: 'purged' as const, finishedAt: site.updatedAt };
      await control.put(siteKeyOf(siteId), encodeRecord({ ...site, deletion }), stored.revision);
      for (;;) {
        const { data } = await read(projectAnswer, key, 'GET', `/manage/projects/${siteId}`);
        if (data.deletion?.status === 'purged') return;
      }
    },
    stop: async () => {
      for (const stop of stops) await stop();
      await bus.close();
      await nats.stop();
    },
  };
}

async function storeTeam(control: KeyedBytes, id: string): Promise<ClientKey> {
  const at = new Date(STARTED_AT_MS).toISOString();
  await control.put(teamKeyOf(id), encodeRecord({ id, name: id, createdAt: at }), 0);
  const key = { id: randomUUID(), secret: createSecret() };
  const root: Client = {
    id: key.id,
    name: 'root',
    type: 'root',
    projectId: null,
    teamId: id,
    createdAt: at,
    updatedAt: at,
    secretHash: hashSecret(key.secret),
  };
  await control.put(clientKeyOf(root.id), encodeRecord(root), 0);
  return key;
}
