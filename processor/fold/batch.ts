import { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import { finalizedBeforeMs, HOUR_MS } from './finalized.ts';

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
  readonly evicted: Set<string>;
  /** The hours that it changes, by interned site: those of its events, and those in which its sessions began. */
  readonly hours: Map<number, Set<number>>;
  /** The messages in it that told to forget (`eraseCommandIdOf`). */
  readonly forgettings: string[];
  /** An hour before this one may have been summed up already. */
  readonly finalizedBeforeMs: number;
}

/** A batch with nothing in it yet. `clockMs` is the partition's clock at the checkpoint that it follows. */
export function openBatch(flushNumber: number, clockMs: number): Batch {
  return {
    flushNumber,
    lastSequence: 0,
    events: emptyRows(),
    sessions: emptyRows(),
    changed: [],
    evicted: new Set(),
    hours: new Map(),
    forgettings: [],
    finalizedBeforeMs: finalizedBeforeMs(clockMs),
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

/** Notes that an event of this time, or a session that began then, changes or is new. */
export function noteChange(batch: Batch, site: number, atMs: number): void {
  const hourMs = Math.floor(atMs / HOUR_MS) * HOUR_MS;
  const hours = batch.hours.get(site);
  if (hours === undefined) batch.hours.set(site, new Set([hourMs]));
  else hours.add(hourMs);
}

/** Of the hours of a site, those that may have been summed up before the batch began. */
export function lateHoursOf(batch: Batch, site: number): readonly number[] {
  return [...(batch.hours.get(site) ?? [])].filter((hourMs) => hourMs < batch.finalizedBeforeMs);
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
