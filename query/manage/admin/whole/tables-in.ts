import { createReadStream, existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Store } from '../../../../infra/store/store.ts';
import { BACKED_TABLES, type BackedLane, restoredTable } from '../../../../processor/backups.ts';
import type { NoteWriter } from '../table.ts';
import { fewAtOnce } from './at-once.ts';
import { digestOfFile } from './backup-folder.ts';
import { type BackupManifest, CONTROL_FILE, type TableFiles } from './manifest.ts';
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

/** Checks that every file of a backup is there and unchanged; throws an error that names one that is not. */
export async function checkFiles(
  folder: string,
  { tables, control }: BackupManifest,
  writeNote: NoteWriter,
): Promise<void> {
  const known = new Set(BACKED_TABLES.map(({ name }) => name));
  if (tables.length !== known.size || tables.some(({ name }) => !known.has(name)))
    throw new Error(
      `${folder} has other tables than this program knows; restore it with the program that wrote it`,
    );
  const files = [{ ...control, rows: 0 }, ...tables.flatMap((table) => table.files)];
  if (
    control.file !== CONTROL_FILE ||
    files.some(({ file }) => !/^[\w-]+(?:\/[\w-]+)?\.(?:json|parquet)$/.test(file))
  )
    throw new Error(`${folder}: the manifest names files that no backup has; use another backup`);
  const progress = new TableProgress('checked', files.length, writeNote);
  for (const file of files) {
    const path = join(folder, file.file);
    if (!existsSync(path)) throw new Error(`${path} is missing; nothing was written; use another backup`);
    const { bytes, sha256 } = await digestOfFile(path);
    if (bytes !== file.bytes || sha256 !== file.sha256)
      throw new Error(`${path} is damaged; nothing was written; use another backup`);
    progress.add(file);
  }
}

/** Where rows go, and how they fit under the lanes that take them over. */
export interface RestoreTarget {
  readonly attempt: string;
  /** Where the lanes of the backup were. */
  readonly lanes: readonly BackedLane[];
  /** The highest version of a document. */
  readonly versionMax: string;
}

/** Fills the tables of an attempt, which are empty, from checked files. */
export async function readTables(
  store: Store,
  {
    folder,
    tables,
    writeNote,
  }: {
    readonly folder: string;
    readonly tables: readonly TableFiles[];
    readonly writeNote: NoteWriter;
  },
  target: RestoreTarget,
): Promise<void> {
  for (const table of tables) {
    const into = restoredTable(target.attempt, table.name);
    const sql = insertOf(into, table, target);
    const progress = new TableProgress(`${table.name}: read`, table.files.length, writeNote);
    await fewAtOnce(table.files, store.insertsInTurn ? 1 : FILES_AT_ONCE, async (file) => {
      await store.insertBytes(sql, createReadStream(join(folder, file.file)), SETTINGS);
      progress.add(file);
    });
    const [found] = await store.query<{ rows: number }>(`SELECT count() AS rows FROM ${into}`);
    if (found?.rows !== table.rows)
      throw new Error(
        `the store has ${found?.rows} of ${table.rows} rows of ${table.name}; nothing was changed; repeat the command`,
      );
  }
}

/**
 * The insert of a file. Where there is one lane, all rows belong to it, in flushes that it has completed, also those of partitions of
 * earlier releases; of several, each row stays with its own. A document's version stays below those of the new bus.
 */
function insertOf(into: string, { name, columns }: TableFiles, target: RestoreTarget): string {
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
