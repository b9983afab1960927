import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../infra/root.ts';
import { migrate } from '../../infra/store/migrate.ts';
import { Store } from '../../infra/store/store.ts';
import { startStoreServer } from '../../infra/testing/store-server.ts';
import type { PreparedStore } from '../../infra/testing/store-target.ts';

const SCHEMA = join(projectRoot, 'processor/schema');
const CACHE = join(projectRoot, '.cache');
const DATABASE = 'footfall';
/** Files on which the tables depend, besides the schema. */
const MADE_BY = ['infra/store/migrate.ts', 'infra/store/store.ts', 'node_modules/chdb/package.json'];

/**
 * A stopped store with the tables of the present schema, from which tests start instead of an empty one: applying the schema costs the
 * store more than a second of CPU. It is made once for each schema and engine, and kept in `.cache`.
 */
export async function preparedStore(): Promise<PreparedStore> {
  const folder = join(CACHE, `prepared-store-${hashOfSchema()}`);
  if (!existsSync(folder)) await prepare(folder);
  return { folder, database: DATABASE };
}

async function prepare(folder: string): Promise<void> {
  mkdirSync(CACHE, { recursive: true });
  const beside = mkdtempSync(join(CACHE, 'preparing-store-'));
  try {
    const server = await startStoreServer({ dataDir: beside });
    const store = new Store({ url: server.url, database: DATABASE, requestTimeoutMs: 60_000 });
    try {
      await migrate(store, SCHEMA);
    } finally {
      await store.close();
      await server.stop();
    }
    renameSync(beside, folder);
  } catch (error) {
    rmSync(beside, { recursive: true, force: true });
    // Another worker has prepared the same meanwhile.
    if (!existsSync(folder)) throw error;
  }
}

function hashOfSchema(): string {
  const hash = createHash('sha256');
  for (const name of readdirSync(SCHEMA).sort())
    hash.update(`${name}\n${readFileSync(join(SCHEMA, name))}\n`);
  for (const file of MADE_BY) hash.update(readFileSync(join(projectRoot, file)));
  return hash.digest('hex').slice(0, 16);
}
