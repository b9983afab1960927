import { DAY_MS } from '../../../../infra/durations.ts';
import type { Store, StoreParameters } from '../../../../infra/store/store.ts';
import type { PerShard } from '../../../../infra/store/store-shards.ts';
import { BACKED_TABLES, type BackedTable, instantTable } from '../../../../processor/backups.ts';
import { happenedBetween } from '../../../../processor/rows.ts';
import type { NoteWriter } from '../table.ts';
import { fewAtOnce } from './at-once.ts';
import { type BackupPlace, digestOf } from './backup-place.ts';
import type { TableFile, TableFiles } from './manifest.ts';
import { parquetRows } from './parquet.ts';
import { type StoredColumn, storedColumns } from './stored-columns.ts';
import { TableProgress } from './table-progress.ts';

/** Files stay small enough for one insert of every store. */
const FILE_ROWS_MAX = 2_000_000;
/** While one is synced to the disk, others are made. */
const FILES_AT_ONCE = 3;
/** Behind every question (`priority`), and with a small share of the machine. */
const SETTINGS = {
  priority: 10,
  max_threads: 1,
  output_format_parquet_string_as_string: 1,
  output_format_parquet_row_group_size: 100_000,
  output_format_parquet_row_group_size_bytes: 16_777_216,
  output_format_parquet_write_bloom_filter: 0,
  output_format_parquet_parallel_encoding: 0,
};
/** The rows of one file: a condition on the table's rows. */
interface FileRows {
  readonly file: string;
  readonly condition: string;
  readonly parameters: StoreParameters;
}

/** The instant to write, and its target. */
export interface TablesOut {
  readonly place: BackupPlace;
  readonly backupId: string;
  readonly writeNote: NoteWriter;
  /** A day, or a table without days, with more rows is several files; two million by default. */
  readonly fileRowsMax?: number;
}

/** True if all shards of the store have all tables of an instant. */
export async function hasInstant(stores: PerShard<Store>, backupId: string): Promise<boolean> {
  return (await stores.inEach((store) => hasTables(store, backupId))).every(Boolean);
}

async function hasTables(store: Store, backupId: string): Promise<boolean> {
  const names = BACKED_TABLES.map(({ name }) => instantTable(backupId, name));
  const found = await store.query<{ table: string }>(
    `SELECT DISTINCT table FROM system.columns
     WHERE database = currentDatabase() AND table IN {names:Array(String)}`,
    { names },
  );
  return found.length === names.length;
}

/** Writes the files of an instant that the place does not have yet, and returns the contents of all of them. */
export async function writeTables(
  stores: PerShard<Store>,
  { place, backupId, writeNote, fileRowsMax = FILE_ROWS_MAX }: TablesOut,
): Promise<readonly TableFiles[]> {
  const tables: TableFiles[] = [];
  const sizes = await place.sizes();
  for (const table of BACKED_TABLES) {
    const source = instantTable(backupId, table.name);
    const columns = await storedColumns(stores.first, source);
    const ofShards = await Promise.all(
      stores.all.map(async (store, shard) => {
        const files = await filesOf(store, table, { source, fileRowsMax, shard });
        return files.map((rows) => ({ rows, store, shard }));
      }),
    );
    const wanted = ofShards.flat();
    const progress = new TableProgress(`${table.name}: written`, wanted.length, writeNote);
    const all = await fewAtOnce(wanted, FILES_AT_ONCE, async ({ rows, store, shard }) => {
      const written = await fileOf(store, { place, sizes, table, source, columns }, rows);
      progress.add(written);
      return shard === 0 ? written : { ...written, shard };
    });
    const files = all.filter(({ rows }) => rows > 0);
    const rows = files.reduce((sum, file) => sum + file.rows, 0);
    tables.push({ name: table.name, columns: [...columns], rows, files });
  }
  return tables;
}

/** Into which files a table is divided: by days, and a day with very many rows by a hash. The same for the same instant. */
async function filesOf(
  store: Store,
  table: BackedTable,
  {
    source,
    fileRowsMax,
    shard,
  }: Pick<Required<TablesOut>, 'fileRowsMax'> & { readonly source: string; readonly shard: number },
): Promise<readonly FileRows[]> {
  const day = table.time === undefined ? "''" : `toString(toDate32(${table.time}))`;
  const days = await store.query<{ day: string; rows: number }>(
    `SELECT ${day} AS day, count() AS rows FROM ${source} GROUP BY day ORDER BY day`,
    {},
    SETTINGS,
  );
  return days.flatMap(({ day: date, rows }) => {
    const parts = Math.max(1, Math.ceil(rows / fileRowsMax));
    const name = `${date || 'all'}${shard === 0 ? '' : `-shard-${shard + 1}`}`;
    return Array.from({ length: parts }, (_, part) => ({
      file: `${table.name}/${name}${parts === 1 ? '' : `-${part + 1}-of-${parts}`}.parquet`,
      condition: [
        table.time === undefined ? '1' : happenedBetween('from', 'to', table.time),
        parts === 1 ? '1' : `cityHash64(${table.apart}) % {parts:UInt32} = {part:UInt32}`,
      ].join(' AND '),
      parameters: {
        ...(table.time === undefined ? {} : { from: Date.parse(date), to: Date.parse(date) + DAY_MS }),
        ...(parts === 1 ? {} : { parts, part }),
      },
    }));
  });
}

async function fileOf(
  store: Store,
  from: {
    readonly place: BackupPlace;
    /** Its contents. */
    readonly sizes: ReadonlyMap<string, number>;
    readonly table: BackedTable;
    readonly source: string;
    readonly columns: readonly StoredColumn[];
  },
  { file, condition, parameters }: FileRows,
): Promise<TableFile> {
  const { place } = from;
  // A file with this name is whole. Its contents are read again all the same.
  const present = from.sizes.get(file);
  const presentRows = present === undefined ? undefined : await parquetRows(place, file, present);
  if (presentRows !== undefined) return { file, rows: presentRows, ...(await digestOf(place, file)) };
  const names = from.columns.map(({ name }) => `\`${name}\``).join(', ');
  const final = from.table.isReplaced ? 'FINAL' : '';
  const sql = `SELECT ${names} FROM ${from.source} ${final} WHERE ${condition} FORMAT Parquet`;
  const digest = await place.write(file, store.bytes(sql, parameters, SETTINGS));
  const rows = await parquetRows(place, file, digest.bytes);
  if (rows === undefined) throw new Error(`the store sent half of ${file}; repeat the command`);
  return { file, rows, ...digest };
}
