import { Readable } from 'node:stream';
import { must } from '../../../../infra/assert.ts';
import { isRetryable } from '../../../../infra/concurrency/retry.ts';
import type { Store } from '../../../../infra/store/store.ts';
import type { PerShard } from '../../../../infra/store/store-shards.ts';
import { BACKED_TABLES, type BackedLane, restoredTable } from '../../../../processor/backups.ts';
import type { NoteWriter } from '../table.ts';
import { fewAtOnce } from './at-once.ts';
import {
  type BackupPlace,
  CONTROL_FILE,
  digestOf,
  type FileDigest,
  isOfBackup,
  RunningDigest,
} from './backup-place.ts';
import type { BackupManifest, TableFile, TableFiles } from './manifest.ts';
import { type StoredColumn, storedColumns } from './stored-columns.ts';
import { TableProgress } from './table-progress.ts';

/** An insert of a file takes memory for some hundred thousand rows at a time. Blocks that are equal are not the same. */
const SETTINGS = {
  insert_deduplicate: 0,
  max_insert_block_size: '262144',
  max_block_size: '65536',
  max_threads: 2,
};
/** While one is synced to the disk, others are read. */
const FILES_AT_ONCE = 2;
const LOW_CARDINALITY = /^LowCardinality\((.*)\)$/;

/**
 * Checks that every file of a backup exists with the right length, and in a folder also that its content is unchanged. Throws an
 * error naming the first bad file. In a bucket the content is checked only when it is read, since all bytes would be downloaded
 * twice.
 */
export async function checkFiles(
  place: BackupPlace,
  { tables, control }: BackupManifest,
  writeNote: NoteWriter,
): Promise<void> {
  const known = new Set(BACKED_TABLES.map(({ name }) => name));
  const named = new Set(tables.map(({ name }) => name));
  if (
    tables.length !== known.size ||
    named.size !== known.size ||
    tables.some(({ name }) => !known.has(name))
  )
    throw new Error(
      `${place.shown} has other tables than this program knows; restore it with the program that wrote it`,
    );
  const files = [{ ...control, rows: 0 }, ...tables.flatMap((table) => table.files)];
  const isOfTable = ({ name, files: own }: TableFiles) =>
    own.every(({ file }) => file.startsWith(`${name}/`));
  const isEach = new Set(files.map(({ file }) => file)).size === files.length;
  if (
    control.file !== CONTROL_FILE ||
    !files.every(({ file }) => isOfBackup(file)) ||
    !tables.every(isOfTable) ||
    !isEach
  )
    throw new Error(`${place.shown}: the manifest names files that no backup has; use another backup`);
  const sizes = await place.sizes();
  const progress = new TableProgress('checked', files.length, writeNote);
  for (const file of files) {
    const bytes = sizes.get(file.file);
    if (bytes === undefined)
      throw new Error(`${place.shown}/${file.file} is missing; nothing was written; use another backup`);
    if (bytes !== file.bytes || (place.kind === 'folder' && !(await isWhole(place, file))))
      throw damaged(place, file);
    progress.add(file);
  }
}

/** Reads a file that is small enough for memory. Throws an error for an operator if the bytes do not match the manifest. */
export async function readChecked(
  place: BackupPlace,
  file: FileDigest & { readonly file: string },
): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of checkedBytes(place, file)) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** The target tables of the rows, and the values that adapt rows to the lanes taking them over. */
export interface RestoreTarget {
  readonly attempt: string;
  /** The positions of the backup's lanes. */
  readonly lanes: readonly BackedLane[];
  /** The highest version of a document. */
  readonly versionMax: string;
}

/** Fills the tables of an attempt, which are empty, from checked files. */
export async function readTables(
  stores: PerShard<Store>,
  {
    place,
    tables,
    writeNote,
  }: {
    readonly place: BackupPlace;
    readonly tables: readonly TableFiles[];
    readonly writeNote: NoteWriter;
  },
  target: RestoreTarget,
): Promise<void> {
  const known = new Map<string, readonly StoredColumn[]>();
  for (const { name } of tables)
    known.set(name, await storedColumns(stores.first, restoredTable(target.attempt, name)));
  for (const table of tables) rejectOtherColumns(place, table, known.get(table.name) ?? []);
  for (const table of tables) {
    const into = restoredTable(target.attempt, table.name);
    // The text of the statement has the store's own names and types, and nothing of the backup.
    const sql = insertOf(into, table.name, known.get(table.name) ?? [], target);
    const progress = new TableProgress(`${table.name}: read`, table.files.length, writeNote);
    await fewAtOnce(table.files, stores.first.insertsInTurn ? 1 : FILES_AT_ONCE, async (file) => {
      await insertFile(must(stores.all[file.shard ?? 0], 'there are as many shards'), sql, place, file);
      progress.add(file);
    });
    for (const [shard, store] of stores.all.entries()) {
      const files = table.files.filter((file) => (file.shard ?? 0) === shard);
      const wanted = files.reduce((sum, { rows }) => sum + rows, 0);
      const [found] = await store.query<{ rows: number }>(`SELECT count() AS rows FROM ${into}`);
      if (found?.rows !== wanted)
        throw new Error(
          `the store has ${found?.rows} of ${wanted} rows of ${table.name}; nothing was changed; repeat the command`,
        );
    }
  }
}

/**
 * Service and backup have the same tables, so other columns mean that no release of them made this backup.
 */
function rejectOtherColumns(
  place: BackupPlace,
  { name, columns }: TableFiles,
  known: readonly StoredColumn[],
): void {
  const types = new Map(known.map((column) => [column.name, column.type]));
  const named = new Set(columns.map((column) => column.name));
  const isSame =
    columns.length === types.size &&
    named.size === types.size &&
    columns.every((column) => types.get(column.name) === column.type);
  if (isSame) return;
  throw new Error(
    `${place.shown}: the manifest names columns of ${name} that this release does not have; nothing was changed; use another backup`,
  );
}

async function insertFile(store: Store, sql: string, place: BackupPlace, file: TableFile): Promise<void> {
  let failure: unknown;
  const bytes = async function* () {
    try {
      yield* checkedBytes(place, file);
    } catch (error) {
      failure = error;
      throw error;
    }
  };
  try {
    await store.insertBytes(sql, Readable.from(bytes(), { objectMode: false }), SETTINGS);
  } catch (error) {
    if (failure !== undefined) throw failure;
    // The store may have met the damage before the end. An unavailable store says nothing about the file.
    if (!isRetryable(error) && !(await isWhole(place, file))) throw damaged(place, file);
    throw error;
  }
}

/** Yields the bytes of a file; throws after the last one if they do not match the manifest. */
async function* checkedBytes(
  place: BackupPlace,
  file: FileDigest & { readonly file: string },
): AsyncGenerator<Uint8Array> {
  const digest = new RunningDigest();
  for await (const piece of place.read(file.file)) {
    digest.add(piece);
    yield piece;
  }
  if (!isEqual(digest.end(), file)) throw damaged(place, file);
}

async function isWhole(place: BackupPlace, file: FileDigest & { readonly file: string }): Promise<boolean> {
  return isEqual(await digestOf(place, file.file), file);
}

function isEqual(one: FileDigest, other: FileDigest): boolean {
  return one.bytes === other.bytes && one.sha256 === other.sha256;
}

function damaged(place: BackupPlace, { file }: { readonly file: string }): Error {
  return new Error(`${place.shown}/${file} is damaged; nothing was changed; use another backup`);
}

/**
 * The insert of a file. With one lane, all rows belong to it, in flushes that it has completed. With several lanes, each row stays in its
 * own. A document's version stays below the versions of the new bus.
 */
function insertOf(
  into: string,
  name: string,
  columns: readonly StoredColumn[],
  target: RestoreTarget,
): string {
  const { lanes, versionMax } = target;
  const only = lanes.length === 1 ? lanes[0] : undefined;
  const hasMessages = BACKED_TABLES.some((table) => table.name === name && table.hasMessages);
  const values = columns.map(({ name: column }) => {
    if (column === 'partition' && only !== undefined) return 'toUInt16(0)';
    if (column === 'flushNumber' && only !== undefined)
      return `toUInt32(least(flushNumber, ${only.flushNumber}))`;
    if (column === 'version' && hasMessages) return `least(version, toUInt64('${versionMax}'))`;
    return `\`${column}\``;
  });
  const names = columns.map(({ name: column }) => `\`${column}\``).join(', ');
  // The store reads a column as a whole, and makes its dictionary then.
  const structure = columns.map(
    (column) => `\`${column.name}\` ${column.type.replace(LOW_CARDINALITY, '$1')}`,
  );
  const text = structure.join(', ').replace(/[\\']/g, '\\$&');
  return `INSERT INTO ${into} (${names}) SELECT ${values.join(', ')} FROM input('${text}') FORMAT Parquet`;
}
