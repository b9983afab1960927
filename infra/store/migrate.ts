import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Store } from './store.ts';

/** Thrown when the files do not match what was applied; the message says what to do. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';
}

interface Applied {
  readonly name: string;
  readonly hash: string;
}

/**
 * Creates the store's database and applies the `*.sql` files of a folder once each, in the order of their names. A file
 * is recorded after all of its statements; after a crash it is applied again from its start, so its statements must be
 * repeatable (`IF NOT EXISTS`). Returns the names of the files that this call applied.
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
      `${name} was changed after it had been applied to ${store.database}: restore it and put the change into a new file`,
    );
  for (const statement of statements(text)) await store.command(statement);
  await store.command('INSERT INTO schema_migrations SELECT {name:String}, {hash:String}, now64(3)', {
    name,
    hash,
  });
  return true;
}

/** The statements of a file. A semicolon at the end of a line ends a statement; comments alone are not a statement. */
export function statements(text: string): readonly string[] {
  return text
    .split(/;[ \t]*(?:\r?\n|$)/)
    .map((statement) => statement.trim())
    .filter((statement) => statement.replace(/^\s*--.*$/gm, '').trim() !== '');
}
