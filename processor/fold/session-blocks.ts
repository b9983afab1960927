import {
  type DictionaryColumn,
  type FixedColumn,
  type MapColumn,
  type NativeBlock,
  type NativeColumn,
  readNativeBlock,
  type TextColumn,
} from '../../infra/store/native-blocks.ts';
import { ENVIRONMENT_COLUMNS, SOURCE_COLUMNS } from '../../ingest/event.ts';
import { holdsDeviceAt, type Slice } from './slice.ts';
import { NO_REVENUE, SessionFields } from './stored-session.ts';

const EXIT_COLUMNS = ['exitOrigin', 'exitPath'] as const;
const ENTRY_COLUMNS = ['entryOrigin', 'entryPath'] as const;
const SINGLE_COLUMNS = [
  'version',
  'projectId',
  'deviceId',
  'id',
  'profileId',
  'startedAt',
  'endedAt',
  'touchedAt',
  'screenViews',
  'otherEvents',
  'revenue',
  'entryAt',
  'exitAt',
  'entryIsView',
  'exitIsView',
  'ended',
  'mixed',
  'creditedAt',
] as const;
/** Columns that a session needs all together, as one run of bytes. Many sessions have the same run. */
const TEXT_COLUMNS = [...EXIT_COLUMNS, ...ENTRY_COLUMNS, ...SOURCE_COLUMNS, ...ENVIRONMENT_COLUMNS] as const;
const NOT_TEXTS: readonly string[] = ['longitude', 'latitude'];

/** The columns of rows that `SessionBlocks` reads, for a SELECT; a block has a dictionary of every text. */
export const SESSION_BLOCK_COLUMNS: readonly string[] = [
  ...SINGLE_COLUMNS,
  ...TEXT_COLUMNS.map((name) => (NOT_TEXTS.includes(name) ? name : `toLowCardinality(${name}) AS ${name}`)),
];

/**
 * Reads stored sessions from blocks of the format `Native`, and skips sessions of other slices, which costs a few nanoseconds. For a
 * million sessions that takes half the time of rows: the store writes and this reads each text once for some thousand rows, and the texts
 * of an environment are joined once for all rows with the same ones.
 */
export class SessionBlocks extends SessionFields {
  readonly #slice: Slice;
  #rest: Buffer = Buffer.alloc(0);
  #block: Columns | undefined;
  #known = new Map<string, string>();
  bytes: Buffer = this.#rest;

  constructor(slice: Slice) {
    super();
    this.#slice = slice;
  }

  /** Adds a piece of the store's answer, which may end within a block. */
  add(piece: Buffer): void {
    this.#rest = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]);
  }

  /** Reads the next session of the slice; false when none is left in the blocks that are complete. */
  next(): boolean {
    for (;;) {
      this.#block ??= this.#nextBlock();
      if (this.#block === undefined) return false;
      const { rows, next } = this.#block;
      if (next < rows.length) {
        this.#read(this.#block, rows[next] ?? 0, next);
        this.#block.next += 1;
        return true;
      }
      this.#block = undefined;
    }
  }

  /** Ends the part: added bytes are dropped. */
  end(): void {
    this.#rest = Buffer.alloc(0);
    this.#block = undefined;
    this.bytes = this.#rest;
    this.#known = new Map();
  }

  #nextBlock(): Columns | undefined {
    if (this.#rest.length === 0) return undefined;
    const block = readNativeBlock(this.#rest, 0);
    if (block === undefined) return undefined;
    this.bytes = block.bytes;
    this.#rest = block.bytes.subarray(block.end);
    return columnsOf(block, this.#slice, this.#known);
  }

  /** `row` counts the rows of the block, `own` the rows of the slice. */
  #read(block: Columns, row: number, own: number): void {
    const { bytes } = this;
    this.version = bytes.readUInt32LE(block.version + 4 * row);
    this.site = block.sites[block.site.indexes[row] ?? 0] ?? '';
    this.deviceStart = block.device.starts[row] ?? 0;
    this.deviceEnd = block.device.ends[row] ?? 0;
    this.idStart = block.id + 16 * row;
    this.profileStart = block.profile.starts[row] ?? 0;
    this.profileEnd = block.profile.ends[row] ?? 0;
    this.startMs = timeAt(bytes, block.startedAt + 8 * row);
    this.endMs = timeAt(bytes, block.endedAt + 8 * row);
    this.touchedMs = timeAt(bytes, block.touchedAt + 8 * row);
    this.screenViews = bytes.readUInt32LE(block.screenViews + 4 * row);
    this.otherEvents = bytes.readUInt32LE(block.otherEvents + 4 * row);
    this.revenue = revenueAt(bytes, block.revenue, row);
    this.entryMs = timeAt(bytes, block.entryAt + 8 * row);
    this.exitMs = timeAt(bytes, block.exitAt + 8 * row);
    this.entryIsView = bytes[block.entryIsView + row] === 1;
    this.exitIsView = bytes[block.exitIsView + row] === 1;
    this.ended = bytes[block.ended + row] === 1;
    this.mixed = bytes[block.mixed + row] === 1;
    this.creditedMs = timeAt(bytes, block.creditedAt + 8 * row);
    this.exitPage = block.exitPages[own] ?? '';
    this.entryPage = block.entryPages[own] ?? '';
    this.source = block.sources[own] ?? '';
    this.environment = block.environments[own] ?? '';
  }
}

/** The columns of a block: their offsets, or their values. */
interface Columns {
  /** Its rows that belong to the slice, and the number of them already read. */
  readonly rows: Uint32Array;
  next: number;
  readonly version: number;
  readonly site: DictionaryColumn;
  /** The keys of `site`, without their lengths. */
  readonly sites: readonly string[];
  readonly device: TextColumn;
  readonly id: number;
  readonly profile: TextColumn;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly touchedAt: number;
  readonly screenViews: number;
  readonly otherEvents: number;
  readonly revenue: MapColumn;
  readonly entryAt: number;
  readonly exitAt: number;
  readonly entryIsView: number;
  readonly exitIsView: number;
  readonly ended: number;
  readonly mixed: number;
  readonly creditedAt: number;
  /** The runs of the slice's rows, in the order of `rows`. */
  readonly exitPages: readonly string[];
  readonly entryPages: readonly string[];
  readonly sources: readonly string[];
  readonly environments: readonly string[];
}

function columnsOf(block: NativeBlock, slice: Slice, known: Map<string, string>): Columns {
  const fixed = (name: string) => columnOf(block, name, isFixed).start;
  const site = columnOf(block, 'projectId', isDictionary);
  const sites = site.keys.map(withoutLength);
  const device = columnOf(block, 'deviceId', isText);
  const rows = rowsOf(block, { site, device }, slice);
  const runs = (names: readonly string[]) =>
    runsOf(
      names.map((name) => columnOf(block, name, isDictionary)),
      rows,
      known,
    );
  return {
    rows,
    next: 0,
    version: fixed('version'),
    site,
    sites,
    device,
    id: fixed('id'),
    profile: columnOf(block, 'profileId', isText),
    startedAt: fixed('startedAt'),
    endedAt: fixed('endedAt'),
    touchedAt: fixed('touchedAt'),
    screenViews: fixed('screenViews'),
    otherEvents: fixed('otherEvents'),
    revenue: columnOf(block, 'revenue', isMap),
    entryAt: fixed('entryAt'),
    exitAt: fixed('exitAt'),
    entryIsView: fixed('entryIsView'),
    exitIsView: fixed('exitIsView'),
    ended: fixed('ended'),
    mixed: fixed('mixed'),
    creditedAt: fixed('creditedAt'),
    exitPages: runs(EXIT_COLUMNS),
    entryPages: runs(ENTRY_COLUMNS),
    sources: runs(SOURCE_COLUMNS),
    environments: runs(ENVIRONMENT_COLUMNS),
  };
}

function columnOf<Column extends NativeColumn>(
  { columns }: NativeBlock,
  name: string,
  is: (column: NativeColumn) => column is Column,
): Column {
  const column = columns.get(name);
  if (column === undefined || !is(column)) throw new Error(`the store has another column ${name}`);
  return column;
}

const isFixed = (column: NativeColumn): column is FixedColumn => column.kind === 'fixed';
const isText = (column: NativeColumn): column is TextColumn => column.kind === 'text';
const isDictionary = (column: NativeColumn): column is DictionaryColumn => column.kind === 'dictionary';
const isMap = (column: NativeColumn): column is MapColumn => column.kind === 'map';

function rowsOf(
  { rows, bytes }: NativeBlock,
  { site, device }: { readonly site: DictionaryColumn; readonly device: TextColumn },
  slice: Slice,
): Uint32Array {
  const own = new Uint32Array(rows);
  let count = 0;
  for (let row = 0; row < rows; row += 1) {
    const key = site.keys[site.indexes[row] ?? 0] ?? '';
    if (!holdsDeviceAt(slice, key, bytes, device.starts[row] ?? 0, device.ends[row] ?? 0)) continue;
    own[count] = row;
    count += 1;
  }
  return own.subarray(0, count);
}

/**
 * The values of several columns as one run for each of the rows. Rows with equal values get one number, column by column: the number of a
 * pair, which is the number from the columns before and the index in this one. `known` has the runs of earlier blocks, so equal ones are
 * one object and cheap to look up.
 */
function runsOf(
  columns: readonly DictionaryColumn[],
  rows: Uint32Array,
  known: Map<string, string>,
): string[] {
  const numbers = new Uint32Array(rows.length);
  let examples = rows.subarray(0, 1);
  const mask = 2 ** Math.ceil(Math.log2(2 * rows.length + 1)) - 1;
  const places = new Uint32Array(mask + 1);
  const befores = new Uint32Array(rows.length);
  for (const { keys, indexes } of columns) {
    if (keys.length <= 1) continue;
    places.fill(0);
    const found = new Uint32Array(rows.length);
    let count = 0;
    for (let own = 0; own < rows.length; own += 1) {
      const row = rows[own] ?? 0;
      const before = numbers[own] ?? 0;
      const index = indexes[row] ?? 0;
      const hash = Math.imul(before, 0x9e3779b1) ^ Math.imul(index, 0x85ebca6b);
      let place = (hash ^ (hash >>> 15)) & mask;
      let number = places[place] ?? 0;
      while (number !== 0 && (befores[number - 1] !== before || indexes[found[number - 1] ?? 0] !== index)) {
        place = (place + 1) & mask;
        number = places[place] ?? 0;
      }
      if (number === 0) {
        befores[count] = before;
        found[count] = row;
        count += 1;
        number = count;
        places[place] = number;
      }
      numbers[own] = number - 1;
    }
    examples = found.subarray(0, count);
  }
  const runs: string[] = [];
  for (const row of examples) {
    let run = '';
    for (const { keys, indexes } of columns) run += keys[indexes[row] ?? 0] ?? '';
    const same = known.get(run);
    if (same === undefined) known.set(run, run);
    runs.push(same ?? run);
  }
  const ofRows: string[] = [];
  for (let own = 0; own < rows.length; own += 1) ofRows.push(runs[numbers[own] ?? 0] ?? '');
  return ofRows;
}

function withoutLength(key: string): string {
  let start = 0;
  while (key.charCodeAt(start) >= 0x80) start += 1;
  return key.slice(start + 1);
}

function timeAt(bytes: Buffer, start: number): number {
  return bytes.readInt32LE(start + 4) * 4_294_967_296 + bytes.readUInt32LE(start);
}

function revenueAt(bytes: Buffer, { ends, keys, valuesStart }: MapColumn, row: number): Map<string, bigint> {
  let place = row === 0 ? 0 : (ends[row - 1] ?? 0);
  const end = ends[row] ?? 0;
  if (place === end) return NO_REVENUE;
  const revenue = new Map<string, bigint>();
  for (; place < end; place += 1) {
    const currency = bytes.toString('latin1', keys.starts[place], keys.ends[place]);
    revenue.set(currency, bytes.readBigInt64LE(valuesStart + 8 * place));
  }
  return revenue;
}
