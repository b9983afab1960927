import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FORMER_DATA } from './former-data.ts';
import type { Store } from './store.ts';

/** Thrown when the files do not match the applied ones; the message says what to do. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';
}

interface Applied {
  readonly name: string;
  readonly hash: string;
  readonly runsBeside: string;
}

interface MigrationFile {
  readonly name: string;
  readonly text: string;
}

/** Lets files use types that the store advises against, such as `LowCardinality(Float32)`: measurements decided on them. */
const AS_WRITTEN = { allow_suspicious_low_cardinality_types: 1 };

/** A line of a file that names the last file of the oldest release that may run, and start, with its changes in place. */
const RUNS_BESIDE = /^-- Runs beside: (\S+\.sql)$/m;

/**
 * Creates the store's database and applies the `*.sql` files of a folder once each, in the order of their names. A file
 * is recorded after all of its statements. After a crash it is applied again from its start, so its statements must be
 * repeatable (`IF NOT EXISTS`). Returns the names of the newly applied files.
 *
 * A later release may have applied files that the folder lacks. This one starts nevertheless if each of them says that it may. The first
 * file makes a baseline: a store with files from before it is refused.
 * @throws {MigrationError} what was applied does not fit the files
 */
export async function migrate(store: Store, folder: string): Promise<readonly string[]> {
  await store.createDatabase();
  await store.features();
  await store.define(`
    CREATE TABLE IF NOT EXISTS schema_migrations
    (name String, hash String, appliedAt DateTime64(3, 'UTC'), runsBeside String)
    ENGINE = ReplacingMergeTree ORDER BY name`);
  const applied = await store.query<Applied>(
    'SELECT name, hash, runsBeside FROM schema_migrations FINAL ORDER BY name',
  );
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();
  rejectUnknown(store, applied, names, folder);
  const hashes = new Map(applied.map(({ name, hash }) => [name, hash]));
  const appliedNow: string[] = [];
  for (const name of names) {
    const text = await readFile(join(folder, name), 'utf8');
    if (await applyOnce(store, { name, text }, hashes.get(name))) appliedNow.push(name);
  }
  return appliedNow;
}

/** Rejects files that this release does not have, unless they say that it may run beside them. */
function rejectUnknown(
  { database }: Store,
  applied: readonly Applied[],
  names: readonly string[],
  folder: string,
): void {
  const [first = ''] = names;
  const last = names.at(-1) ?? '';
  if (applied.some(({ name }) => name < first)) throw new MigrationError(FORMER_DATA);
  for (const { name, runsBeside } of applied) {
    if (names.includes(name)) continue;
    if (name < last) throw new MigrationError(`${name} was applied to ${database} but is not in ${folder}`);
    if (runsBeside === '' || last < runsBeside)
      throw new MigrationError(
        `${name} was applied to ${database} by a later release, and this one cannot run with it: start that release, or one that has ${runsBeside || name}`,
      );
  }
}

async function applyOnce(
  store: Store,
  { name, text }: MigrationFile,
  appliedHash: string | undefined,
): Promise<boolean> {
  const hash = createHash('sha256').update(text).digest('hex');
  if (appliedHash === hash) return false;
  if (appliedHash !== undefined)
    throw new MigrationError(
      `${name} was changed after it had been applied to ${store.database}: restore it and put the change into a new file`,
    );
  for (const statement of statements(text)) await store.define(statement, AS_WRITTEN);
  await store.command(
    'INSERT INTO schema_migrations (name, hash, appliedAt, runsBeside) SELECT {name:String}, {hash:String}, now64(3), {runsBeside:String}',
    { name, hash, runsBeside: RUNS_BESIDE.exec(text)?.[1] ?? '' },
  );
  return true;
}

/** The statements of a file. A semicolon at the end of a line ends a statement; a text of comments only does not count. */
export function statements(text: string): readonly string[] {
  return text
    .split(/;[ \t]*(?:\r?\n|$)/)
    .map((statement) => statement.trim())
    .filter((statement) => statement.replace(/^\s*--.*$/gm, '').trim() !== '');
}
