import type { StoredId } from '../../infra/accounts/ids.ts';
import { StoreError } from '../../infra/store/store-error.ts';
import { makeLike } from '../backups/instant.ts';
import { openBatch } from '../fold/batch.ts';
import { writeMarkerRows } from '../fold/session-rows.ts';
import {
  columnTypeOf,
  EVENTS_COLUMNS,
  EVENTS_TABLE,
  SESSIONS_COLUMNS,
  SESSIONS_TABLE,
  structureOf,
} from '../rows.ts';
import { type FlushOptions, insertUntilDone } from './flush.ts';
import { encodeLateHours, LATE_HOURS_COLUMNS, LATE_HOURS_TABLE } from './late-hours.ts';
import type { CutBatch } from './slices.ts';

/** Refused sites found by one search; more than a lane's record has room for are no fault of single sites. */
const REFUSED_MAX = 64;

/** A site of a flush whose rows the store refuses. */
export interface RefusedSite {
  readonly projectId: StoredId;
  /** Names no value of a row: it goes to the record and to logs. */
  readonly reason: string;
}

/** A flush's rows for one table. */
interface TableRows {
  readonly table: string;
  readonly columns: readonly string[];
  readonly structure: string | undefined;
  /** The rows of each site. */
  readonly sites: ReadonlyMap<StoredId, readonly Uint8Array[]>;
  /** A row that the store takes whatever sites send. */
  readonly plain: Uint8Array;
}

/**
 * The sites of a flush whose rows the store refuses; none when they do not explain that the flush is refused. It inserts the rows of
 * half of the sites at a time into an empty table with the same columns, keys and constraints, which is dropped in the end.
 */
export async function refusedSites(options: FlushOptions, batch: CutBatch): Promise<readonly RefusedSite[]> {
  const found = new Map<StoredId, RefusedSite>();
  for (const rows of await tablesOf(options, batch)) {
    if (rows.sites.size === 0) continue;
    const refused = await refusedIn(options, rows);
    if (refused === undefined) return [];
    for (const site of refused) if (!found.has(site.projectId)) found.set(site.projectId, site);
  }
  return found.size > REFUSED_MAX ? [] : [...found.values()];
}

async function tablesOf({ lane, slices }: FlushOptions, batch: CutBatch): Promise<readonly TableRows[]> {
  const { events, sessions } = await slices.rowsBySite();
  const { flushNumber } = batch.checkpoint;
  const lateHours = new Map<StoredId, Uint8Array[]>();
  for (const hour of batch.lateHours) {
    const bytes = encodeLateHours({ lane, flushNumber, lateHours: [hour], nowMs: 0 });
    const known = lateHours.get(hour.projectId);
    if (known === undefined) lateHours.set(hour.projectId, [bytes]);
    else known.push(bytes);
  }
  const plainHour = { projectId: '', hourMs: 0 } as const;
  const marker = openBatch(flushNumber, 0);
  writeMarkerRows(marker, lane);
  return [
    {
      table: LATE_HOURS_TABLE,
      columns: LATE_HOURS_COLUMNS,
      structure: undefined,
      sites: lateHours,
      plain: encodeLateHours({ lane, flushNumber, lateHours: [plainHour], nowMs: 0 }),
    },
    {
      table: EVENTS_TABLE,
      columns: EVENTS_COLUMNS,
      structure: structureOf('events'),
      sites: events,
      plain: emptyEvent(),
    },
    {
      table: SESSIONS_TABLE,
      columns: SESSIONS_COLUMNS,
      structure: structureOf('sessions'),
      sites: sessions,
      plain: marker.sessions.writer.bytes(),
    },
  ];
}

/** Undefined when the table takes no rows, or takes rows of too few sites: then no site is the cause. */
async function refusedIn(options: FlushOptions, rows: TableRows): Promise<RefusedSite[] | undefined> {
  const { lane, store } = options;
  const copy = `${rows.table}_refused_${lane}`;
  const sites = [...rows.sites.keys()];
  const refused: RefusedSite[] = [];
  const insert = (chunks: readonly Uint8Array[]) =>
    insertUntilDone(options, copy, () =>
      store.insertRowBinary(copy, rows.columns, chunks, undefined, rows.structure),
    );
  const drop = () => insertUntilDone(options, copy, () => store.define(`DROP TABLE IF EXISTS ${copy} SYNC`));
  await drop();
  await insertUntilDone(options, copy, () => makeLike(store, copy, rows.table));
  try {
    await search(sites, refused, (some) => insert(some.flatMap((site) => rows.sites.get(site) ?? [])), rows);
    const areAll = refused.length === sites.length;
    if (refused.length > REFUSED_MAX || (areAll && refused.length > 1)) return undefined;
    if (areAll && !(await isTaken(() => insert([rows.plain])))) return undefined;
    return refused;
  } finally {
    await drop();
  }
}

/** Finds the refused ones of these sites by halving. */
async function search(
  sites: readonly StoredId[],
  refused: RefusedSite[],
  insert: (sites: readonly StoredId[]) => Promise<void>,
  { table }: Pick<TableRows, 'table'>,
): Promise<void> {
  if (sites.length === 0 || refused.length > REFUSED_MAX) return;
  try {
    return await insert(sites);
  } catch (error) {
    if (!isPoison(error)) throw error;
    const [projectId] = sites;
    if (sites.length === 1 && projectId !== undefined) {
      refused.push({ projectId, reason: `the store refuses its rows of ${table} (error ${error.code})` });
      return;
    }
  }
  const middle = Math.ceil(sites.length / 2);
  await search(sites.slice(0, middle), refused, insert, { table });
  await search(sites.slice(middle), refused, insert, { table });
}

async function isTaken(insert: () => Promise<void>): Promise<boolean> {
  try {
    await insert();
    return true;
  } catch (error) {
    if (isPoison(error)) return false;
    throw error;
  }
}

/** True if the store refuses rows because of their content. */
export function isPoison(error: unknown): error is StoreError {
  return error instanceof StoreError && error.kind === 'poison';
}

/** A row of events with nothing in it: every value of zero bytes is the empty one of its type. */
function emptyEvent(): Uint8Array {
  return new Uint8Array(EVENTS_COLUMNS.reduce((sum, column) => sum + emptyBytesOf(column), 0));
}

function emptyBytesOf(column: string): number {
  const type = columnTypeOf('events', column);
  if (type === 'UInt16') return 2;
  if (type === 'UInt32' || type === 'Float32') return 4;
  if (type === 'Int64' || type.startsWith('DateTime64')) return 8;
  return type === 'FixedString(16)' ? 16 : 1;
}
