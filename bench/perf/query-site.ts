import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import {
  CONTROL_BUCKET,
  clientKeyOf,
  clientSchema,
  encodeRecord,
  siteKeyOf,
  siteSchema,
} from '../../infra/accounts/accounts.ts';
import { must } from '../../infra/assert.ts';
import { Bus } from '../../infra/bus/bus.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import { createLogger } from '../../infra/log.ts';
import { projectRoot } from '../../infra/root.ts';
import { migrate } from '../../infra/store/migrate.ts';
import { Store } from '../../infra/store/store.ts';
import { LANES_DEFAULT } from '../../ingest/event.ts';
import {
  encodeLaneRecord,
  FIRST_CHECKPOINT,
  freeLaneRecord,
  LANES_BUCKET,
  laneKeyOf,
} from '../../processor/lane/lane-record.ts';
import { DATABASE, type Groundwork } from '../cluster/cluster.ts';
import { UsageError } from '../cluster/options.ts';
import { fillStore, SITE_CURRENCY } from '../traffic/made-visits.ts';

export const SITE_ZONE = 'Europe/Berlin';
const CLIENTS_AT_ONCE = 64;
const STATEMENT_MAX_MS = 900_000;
const NOTE = 'query-site.json';

/** The site. */
export interface SitePlan {
  readonly seed: number;
  /** Events of clients, roughly: sessions are made whole. */
  readonly events: number;
  /** Read clients that share one secret: each has a request limit of its own. */
  readonly clients: number;
}

const noteSchema = z.strictObject({
  format: z.literal(1),
  seed: z.number(),
  events: z.number(),
  clients: z.number(),
  sessions: z.number(),
  /** Events of clients, exactly; synthetic events come on top. */
  acknowledged: z.number(),
  endMs: z.number(),
  loadSeconds: z.number(),
});

/** The contents of a data folder. */
export type LoadedSite = Readonly<z.output<typeof noteSchema>>;

/** The ids of the read clients. */
export function clientIds(count: number): string[] {
  return Array.from(
    { length: count },
    (_, place) => `00000000-0000-4000-8000-${place.toString(16).padStart(12, '0')}`,
  );
}

/**
 * The site in a data folder that `plan` describes; undefined when the folder is empty or missing. It never overwrites
 * other data.
 * @throws {UsageError} when the folder contains anything else
 */
export function siteIn(folder: string, plan: SitePlan): LoadedSite | undefined {
  if (!existsSync(folder) || readdirSync(folder).length === 0) return undefined;
  const path = join(folder, NOTE);
  if (!existsSync(path))
    throw new UsageError(`--data: ${folder} holds something else, or a load that was broken off`);
  const found = noteSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  const isSame = found.seed === plan.seed && found.events === plan.events && found.clients >= plan.clients;
  if (!isSame)
    throw new UsageError(
      `--data: ${folder} holds another site (${found.events} events, ${found.clients} clients, seed ${found.seed})`,
    );
  return found;
}

/**
 * Puts the site into an empty cluster, before its processors start: a year of events and sessions up to the last full
 * hour, made inside the store, as a service would have left them that stopped there with everything flushed.
 */
export async function loadSite(
  ground: Groundwork,
  plan: SitePlan,
  say: (line: string) => void,
): Promise<LoadedSite> {
  const startedMs = performance.now();
  const endMs = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
  const store = new Store({ url: ground.storeUrl, database: DATABASE, requestTimeoutMs: STATEMENT_MAX_MS });
  try {
    await migrate(store, join(projectRoot, 'processor/schema'));
    await storeWideParts(store);
    await setUpAccounts(ground, plan);
    const site = ground.credentials.projectId;
    const { flushNumber, ...counts } = await fillStore(store, { ...plan, site, endMs }, say);
    await setUpLanes(ground.busUrl, flushNumber, endMs);
    const loadSeconds = Math.round((performance.now() - startedMs) / 1_000);
    const loaded: LoadedSite = { format: 1, ...plan, ...counts, endMs, loadSeconds };
    writeFileSync(join(ground.folder, NOTE), `${JSON.stringify(loaded, undefined, 2)}\n`);
    return loaded;
  } finally {
    await store.close();
  }
}

/**
 * Columns in files of their own from the first part on. In a service, parts as large as these come from several merges; here,
 * one insert makes them.
 */
async function storeWideParts(store: Store): Promise<void> {
  for (const table of ['events', 'sessions']) {
    await store.command(`ALTER TABLE ${table} MODIFY SETTING min_level_for_wide_part = 0`);
  }
}

/** The site's zone and currency, and copies of its read client. */
async function setUpAccounts({ busUrl, credentials }: Groundwork, plan: SitePlan): Promise<void> {
  const bus = await Bus.connect({ url: busUrl, name: 'bench' }, createLogger('bench', 'silent'));
  const bucket = await bus.keyed(CONTROL_BUCKET);
  const recordOf = async (key: string): Promise<{ record: unknown; revision: number }> => {
    const { bytes, revision } = must(await bucket.get(key), `no record ${key}`);
    return { record: JSON.parse(Buffer.from(must(bytes, `${key} was removed`)).toString('utf8')), revision };
  };
  const siteKey = siteKeyOf(credentials.projectId);
  const site = await recordOf(siteKey);
  const changed = { ...siteSchema.parse(site.record), timezone: SITE_ZONE, currency: SITE_CURRENCY };
  await bucket.put(siteKey, encodeRecord(changed), site.revision);
  const { record } = await recordOf(clientKeyOf(credentials.clients.read.id));
  const reader = clientSchema.parse(record);
  const ids = clientIds(plan.clients);
  while (ids.length > 0) {
    const group = ids.splice(0, CLIENTS_AT_ONCE);
    await Promise.all(group.map((id) => bucket.put(clientKeyOf(id), encodeRecord({ ...reader, id }), 0)));
  }
  await bus.close();
}

/** Sets up the state that the lanes' owners would have left: everything in the store, nothing on the bus. */
async function setUpLanes(busUrl: string, flushNumber: number, clockMs: number): Promise<void> {
  const bus = await Bus.connect({ url: busUrl, name: 'bench' }, createLogger('bench', 'silent'));
  const bucket = await bus.keyed(LANES_BUCKET);
  const checkpoint = { ...FIRST_CHECKPOINT, flushNumber, clockMs };
  const record = freeLaneRecord(checkpoint);
  for (let lane = 0; lane < LANES_DEFAULT; lane += 1)
    await bucket.put(laneKeyOf(lane), encodeLaneRecord(record), 0);
  await bus.close();
}
