import { RowBinaryWriter } from '../infra/row-binary.ts';

/** A batch is cut long before this; it bounds what one message can add on top. */
const WRITER_BYTES_MAX = 1_073_741_824;

/** Rows that were written one after the other, and which site each is of. */
export interface Rows {
  readonly writer: RowBinaryWriter;
  /** Interned site of each row. */
  readonly sites: number[];
  /** Where each row ends. */
  readonly ends: number[];
}

/** What one flush will bring to the store: it fills while it is open, and is cut once. */
export interface Batch {
  readonly flushNumber: number;
  /** Stream sequence of the last message in it; 0 while there is none. */
  lastSequence: number;
  readonly events: Rows;
  /** Session rows that are final: the -1 of each state that was replaced, and the +1 of sessions that were let go. */
  readonly sessions: Rows;
  /** Slots whose +1 row is written at the cut; 0 where the session was let go meanwhile. */
  readonly changed: number[];
  /** Keys of the devices of which it lets a session go: the store does not have that session's last state yet. */
  readonly letGo: Set<string>;
}

export function openBatch(flushNumber: number): Batch {
  return {
    flushNumber,
    lastSequence: 0,
    events: emptyRows(),
    sessions: emptyRows(),
    changed: [],
    letGo: new Set(),
  };
}

export function emptyRows(): Rows {
  return { writer: new RowBinaryWriter(WRITER_BYTES_MAX), sites: [], ends: [] };
}

/** Notes that the row just written is of `site`. */
export function endRow(rows: Rows, site: number): void {
  rows.sites.push(site);
  rows.ends.push(rows.writer.length);
}

/** True when the batch holds nothing for the store. */
export function isEmpty(batch: Batch): boolean {
  return batch.events.ends.length === 0 && batch.sessions.ends.length === 0 && batch.changed.length === 0;
}

/** Copies the rows of one site behind each other into `into`; returns how many there were. */
export function copyRowsOf(rows: Rows, site: number, into: RowBinaryWriter): number {
  const bytes = rows.writer.bytes();
  let count = 0;
  let start = 0;
  for (let index = 0; index < rows.ends.length; index += 1) {
    const end = rows.ends[index] ?? start;
    if (rows.sites[index] === site) {
      into.raw(bytes, start, end);
      count += 1;
    }
    start = end;
  }
  return count;
}
