import { HOUR_MS } from '../../infra/durations.ts';
import { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import { finalizedBeforeMs } from './finalized.ts';

/** A batch is cut long before this size; it bounds the rows that a message can add on top. */
const WRITER_BYTES_MAX = 1_073_741_824;
/** Room of a new batch. The system gives memory page by page, when it is written to. */
const FIRST_BYTES_MAX = 67_108_864;

/** Rows written one after the other, with the site of each. */
export interface Rows {
  readonly writer: RowBinaryWriter;
  /** Interned site of each row. */
  readonly sites: number[];
  /** The end of each row. */
  readonly ends: number[];
}

/** The rows that a flush will write to the store. It fills while it is open, and is cut once. */
export interface Batch {
  readonly flushNumber: number;
  /** Stream sequence of the last message in it; 0 while it has none. */
  lastSequence: number;
  readonly events: Rows;
  /** Final session rows: the -1 of each replaced state, and the +1 of evicted sessions. */
  readonly sessions: Rows;
  /** Slots whose +1 row is written at the cut; 0 if the session was evicted meanwhile. */
  readonly changed: number[];
  /** Keys of devices whose sessions this batch evicts: the store does not have the last state of such a session yet. */
  readonly evicted: Set<string>;
  /**
   * The hours that this batch changes, by interned site: the hours of its events, the hours in which its sessions began, and every hour of
   * a session whose entry or visitor has changed (`noteHours`).
   */
  readonly hours: Map<number, Set<number>>;
  /** The erase commands in it, by `eraseCommandIdOf`. */
  readonly forgettings: string[];
  /** An hour before this one may have a rollup already. */
  readonly finalizedBeforeMs: number;
}

/**
 * An empty batch. `clockMs` is the lane's clock at the checkpoint that it follows. It has room for as many bytes as the batch before, because
 * growing a batch of a busy lane copies megabytes while questions wait.
 */
export function openBatch(flushNumber: number, clockMs: number, before?: Batch): Batch {
  return {
    flushNumber,
    lastSequence: 0,
    events: emptyRows(before?.events),
    sessions: emptyRows(before?.sessions),
    changed: [],
    evicted: new Set(),
    hours: new Map(),
    forgettings: [],
    finalizedBeforeMs: finalizedBeforeMs(clockMs),
  };
}

/** Rows that other threads can read, with room for some more bytes than `before` has. */
export function emptyRows(before?: Rows): Rows {
  const firstBytes = Math.min(FIRST_BYTES_MAX, Math.ceil(1.25 * (before?.writer.length ?? 0)));
  return {
    writer: new RowBinaryWriter(WRITER_BYTES_MAX, { isShared: true, firstBytes }),
    sites: [],
    ends: [],
  };
}

/** Records that the row just written belongs to `site`. */
export function endRow(rows: Rows, site: number): void {
  rows.sites.push(site);
  rows.ends.push(rows.writer.length);
}

/** Records that this batch changes or adds an event of this time, or a session that began then. */
export function noteChange(batch: Batch, site: number, atMs: number): void {
  const hourMs = Math.floor(atMs / HOUR_MS) * HOUR_MS;
  const hours = batch.hours.get(site);
  if (hours === undefined) batch.hours.set(site, new Set([hourMs]));
  else hours.add(hourMs);
}

/** The changed hours of a site that may have had a rollup before the batch began. */
export function lateHoursOf(batch: Batch, site: number): readonly number[] {
  return [...(batch.hours.get(site) ?? [])].filter((hourMs) => hourMs < batch.finalizedBeforeMs);
}

/** True when the batch holds nothing for the store. */
export function isEmpty(batch: Batch): boolean {
  return batch.events.ends.length === 0 && batch.sessions.ends.length === 0 && batch.changed.length === 0;
}

/** Copies the rows of one site into `into`, one after the other; returns their number. */
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
