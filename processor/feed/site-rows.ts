import type { SiteId, StoredId } from '../../infra/accounts/ids.ts';
import { SESSION_END } from '../../ingest/event.ts';
import { EVENT_FRONT_COLUMNS, EVENTS_COLUMNS } from '../rows.ts';
import { RowReader } from './row-reader.ts';

/** Time for which the thread is blocked before other work has a turn. */
const SLICE_MS = 4;
/** Reading the clock for each row would cost more than the row. */
const ROWS_BETWEEN_LOOKS = 64;

const SITE_AT = EVENT_FRONT_COLUMNS.length;
const NAME_AT = EVENTS_COLUMNS.indexOf('name');
const COLUMNS = EVENTS_COLUMNS.length;
/** Lane and flush come before a row's id. */
const ID_AT = 6;
const ID_BYTES = 16;

/** The rows of a flush that are of one site, in the order of its feed. */
export interface SiteRows {
  readonly storedId: StoredId;
  /** The site's public id. */
  readonly projectId: SiteId;
  /** Offset of each row. */
  readonly starts: readonly number[];
}

/** The rows of one site while they are collected. */
interface Found {
  readonly projectId: SiteId;
  readonly starts: number[];
  /** From here on all rows are ends of sessions. */
  endsFrom: number;
}

/**
 * Finds the rows of these sites among RowBinary rows of `events`; `sites` maps stored ids to public ids. The rows stay in the order in
 * which they were folded, except consecutive ends of sessions: these are sorted by id, so that a repeated flush has each event at the same place, in
 * whatever order sessions of one millisecond end.
 */
export async function rowsOfSites(bytes: Buffer, sites: ReadonlyMap<StoredId, SiteId>): Promise<SiteRows[]> {
  const found = new Map<StoredId, Found>();
  const row = new RowReader(bytes);
  let sliceEndMs = performance.now() + SLICE_MS;
  for (let count = 1; row.offset < bytes.length; count += 1) {
    const start = row.offset;
    row.skip(0, SITE_AT);
    const storedId = row.text() as StoredId;
    const projectId = sites.get(storedId);
    if (projectId === undefined) row.skip(SITE_AT + 1, COLUMNS);
    else {
      row.skip(SITE_AT + 1, NAME_AT);
      const isEnd = row.text() === SESSION_END;
      row.skip(NAME_AT + 1, COLUMNS);
      note(foundOf(found, storedId, projectId), { bytes, start, isEnd });
    }
    if (count % ROWS_BETWEEN_LOOKS !== 0 || performance.now() < sliceEndMs) continue;
    await new Promise((resolve) => setImmediate(resolve));
    sliceEndMs = performance.now() + SLICE_MS;
  }
  return [...found].map(([storedId, site]) => {
    sortEnds(site, bytes);
    return { storedId, projectId: site.projectId, starts: site.starts };
  });
}

function foundOf(found: Map<StoredId, Found>, storedId: StoredId, projectId: SiteId): Found {
  const known = found.get(storedId);
  if (known !== undefined) return known;
  const first: Found = { projectId, starts: [], endsFrom: 0 };
  found.set(storedId, first);
  return first;
}

function note(
  site: Found,
  { bytes, start, isEnd }: { readonly bytes: Buffer; readonly start: number; readonly isEnd: boolean },
): void {
  if (!isEnd) sortEnds(site, bytes);
  site.starts.push(start);
  if (!isEnd) site.endsFrom = site.starts.length;
}

/** Sorts the ends of sessions that come last. */
function sortEnds({ starts, endsFrom }: Found, bytes: Buffer): void {
  if (starts.length - endsFrom < 2) return;
  // The last six bytes of an id are chance, so they settle nearly every comparison, as plain numbers.
  const ends = starts
    .splice(endsFrom)
    .map((start) => ({ start, key: bytes.readUIntBE(start + ID_AT + ID_BYTES - 6, 6) }));
  ends.sort((a, b) => a.key - b.key || compareIds(bytes, a.start, b.start));
  for (const { start } of ends) starts.push(start);
}

function compareIds(bytes: Buffer, a: number, b: number): number {
  const at = b + ID_AT;
  return bytes.compare(bytes, at, at + ID_BYTES, a + ID_AT, a + ID_AT + ID_BYTES);
}
