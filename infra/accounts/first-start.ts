import { randomUUID } from 'node:crypto';
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { Bus } from '../bus/bus.ts';
import { configuredBus } from '../bus/bus-servers.ts';
import type { KeyedBytes } from '../bus/keyed-bytes.ts';
import { type Config, readConfig } from '../config.ts';
import { createLogger } from '../log.ts';
import { baseUrlOf } from '../network/base-url.ts';
import { isExposed } from '../network/exposure.ts';
import {
  type Client,
  type ClientType,
  CONTROL_BUCKET,
  clientKeyOf,
  encodeRecord,
  siteKeyOf,
  siteSchema,
  teamKeyOf,
} from './accounts.ts';
import { createSecret, hashSecret } from './client-auth.ts';
import { createSignInLink } from './sign-in-links.ts';

const TEAM_ID = 'team';
const SITE_ID = 'demo';
const FILE = 'credentials.json';

interface Credentials {
  readonly baseUrl: string;
  readonly projectId: string;
  readonly teamId: string;
  readonly clients: Readonly<Record<ClientType, { readonly id: string; readonly secret: string }>>;
}

/**
 * A program that runs once before the services: gives an empty bus a team, the site `demo` and a client of each type.
 * Prints one line of JSON, `{"created": boolean, "credentials": … or null, "cors": […], "signIn": … or null}`: `cors`
 * has the allowed origins of the new site, `signIn` the token of a link that signs a browser in as the root client.
 *
 * Site, clients and file come first and the team last. Only the team marks the start as complete, so the next start
 * repeats an interrupted one. With a team but without a file nothing changes, since a secret cannot be read back.
 */
async function main(): Promise<void> {
  const config = readConfig();
  const log = createLogger('first-start', config.LOG_LEVEL);
  const bus = await Bus.connect(configuredBus(config, { name: 'first-start' }), log);
  try {
    const bucket = await bus.keyed(CONTROL_BUCKET);
    const keys = await bucket.keys();
    if (keys.some((key) => key.startsWith('team.'))) return report(null, [], null);
    for (const key of keys) if (/^(site|client|link)\./.test(key)) await bucket.remove(key);
    const cors = firstOrigins(config);
    const { credentials, root } = await createAccounts(bucket, { baseUrl: baseUrlOf(config), cors });
    const signIn = await createSignInLink(bucket, root, Date.now());
    writeCredentials(config.DATA_DIR, credentials);
    const team = { id: TEAM_ID, name: 'Team', createdAt: new Date().toISOString() };
    await bucket.put(teamKeyOf(TEAM_ID), encodeRecord(team), 0);
    report(credentials, cors, signIn);
  } finally {
    await bus.close();
  }
}

function report(credentials: Credentials | null, cors: readonly string[], signIn: string | null): void {
  process.stdout.write(`${JSON.stringify({ created: credentials !== null, credentials, cors, signIn })}\n`);
}

/**
 * The origins from which browsers may send to the first site: all of them on a private machine. Where strangers may reach the service, only
 * its own public address, if there is one: the operator names the others.
 */
function firstOrigins(config: Config): string[] {
  if (!isExposed(config)) return ['*'];
  return URL.canParse(config.BASE_URL) ? [new URL(config.BASE_URL).origin] : [];
}

async function createAccounts(
  bucket: KeyedBytes,
  { baseUrl, cors }: { readonly baseUrl: string; readonly cors: readonly string[] },
): Promise<{ readonly credentials: Credentials; readonly root: Client }> {
  const now = new Date().toISOString();
  const site = siteSchema.parse({
    id: SITE_ID,
    teamId: TEAM_ID,
    name: 'Demo',
    cors,
    createdAt: now,
    updatedAt: now,
  });
  await bucket.put(siteKeyOf(SITE_ID), encodeRecord(site), 0);
  const create = async (type: ClientType) => {
    const secret = createSecret();
    const client: Client = {
      id: randomUUID(),
      name: `first ${type} client`,
      type,
      projectId: type === 'root' ? null : SITE_ID,
      teamId: TEAM_ID,
      createdAt: now,
      updatedAt: now,
      secretHash: hashSecret(secret),
    };
    await bucket.put(clientKeyOf(client.id), encodeRecord(client), 0);
    return { client, key: { id: client.id, secret } };
  };
  const { client, key: root } = await create('root');
  const { key: read } = await create('read');
  const { key: write } = await create('write');
  const credentials = { baseUrl, projectId: SITE_ID, teamId: TEAM_ID, clients: { root, read, write } };
  return { credentials, root: client };
}

/** Written completely or not at all, and readable by its owner only from the first moment. */
function writeCredentials(folder: string, credentials: Credentials): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, FILE);
  const part = `${path}.${process.pid}`;
  const file = openSync(part, 'w', 0o600);
  try {
    writeSync(file, `${JSON.stringify(credentials, undefined, 2)}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(part, path);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
