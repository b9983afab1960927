import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Store } from './store.ts';

/** Thrown when the files and what was applied of them do not fit together; the message says what to do. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';
}

interface Applied {
  readonly name: string;
  readonly hash: string;
}

/**
 * Creates the store's database and applies the `*.sql` files of a folder in the order of their names, each once. A file
 * is recorded when all of its statements are done; after a crash it is applied from its start, so its statements
 * must bear that (`IF NOT EXISTS`). Returns the names of the files that were applied now.
 */
export async function migrate(store: Store, folder: string): Promise<readonly string[]> {
  await store.createDatabase();
  await store.command(`
    CREATE TABLE IF NOT EXISTS schema_migrations (name String, hash String, appliedAt DateTime64(3, 'UTC'))
    ENGINE = ReplacingMergeTree ORDER BY name`);
  const rows = await store.query<Applied>('SELECT name, hash FROM schema_migrations FINAL');
  const hashes = new Map(rows.map(({ name, hash }) => [name, hash]));
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();
  for (const name of hashes.keys()) {
    if (!names.includes(name))
      throw new MigrationError(`${name} was applied to ${store.database} but is not in ${folder}`);
  }
  const appliedNow: string[] = [];
  for (const name of names) {
    const text = await readFile(join(folder, name), 'utf8');
    if (await applyOnce(store, { name, hash: hashes.get(name) }, text)) appliedNow.push(name);
  }
  return appliedNow;
}

async function applyOnce(
  store: Store,
  { name, hash: appliedHash }: { name: string; hash: string | undefined },
  text: string,
): Promise<boolean> {
  const hash = createHash('sha256').update(text).digest('hex');
  if (appliedHash === hash) return false;
  if (appliedHash !== undefined)
    throw new MigrationError(
      `${name} was changed after it had been applied to ${store.database}: restore it, and add a file for the change`,
    );
  for (const statement of statements(text)) await store.command(statement);
  await store.command('INSERT INTO schema_migrations SELECT {name:String}, {hash:String}, now64(3)', {
    name,
    hash,
  });
  return true;
}

/** The statements of a file. A semicolon at the end of a line ends one; comments alone are none. */
export function statements(text: string): readonly string[] {
  return text
    .split(/;[ \t]*(?:\r?\n|$)/)
    .map((statement) => statement.trim())
    .filter((statement) => statement.replace(/^\s*--.*$/gm, '').trim() !== '');
}
